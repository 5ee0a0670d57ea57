package fastjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// AppendString appends s as encoding/json writes it, byte for byte.
func AppendString(b []byte, s string) []byte { return appendString(b, s, &safeInHTML) }

// AppendText appends s as a json.Encoder writes it that was told not to escape
// HTML.
func AppendText(b []byte, s string) []byte { return appendString(b, s, &safe) }

// Marshal is [json.Marshal] that leaves HTML as it is, as AppendText does. It is
// not faster.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// A set tells which signs are written as they are.
type set [utf8.RuneSelf]bool

func appendString(b []byte, s string, asItIs *set) []byte {
	b = append(b, '"')
	done := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if !asItIs[c] {
				b = appendEscape(append(b, s[done:i]...), c)
				done = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			b = append(append(b, s[done:i]...), `\ufffd`...)
			done = i + 1
		case r == '\u2028', r == '\u2029': // they end a line in JavaScript
			b = append(append(b, s[done:i]...), `\u202`...)
			b = append(b, hex[r&0xF])
			done = i + size
		}
		i += size
	}
	return append(append(b, s[done:]...), '"')
}

const hex = "0123456789abcdef"

var safe, safeInHTML = func() (all, html set) {
	for c := range all {
		all[c] = c >= ' ' && c != '"' && c != '\\'
		html[c] = all[c] && c != '<' && c != '>' && c != '&'
	}
	return all, html
}()

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	default:
		return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xF])
	}
}
