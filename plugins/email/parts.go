package email

import (
	"bufio"
	"encoding/base64"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode/utf16"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/textproto"
)

// preamble is how many bytes of what consists of parts are searched for the beginning of the first.
const preamble = 64 << 10

// opening is a line that begins a part, whatever the header says of it.
var opening = regexp.MustCompile(`(?m)^--(\S[^\r\n]*?)[ \t]*\r?\n(?i:content-)`)

// partsOf reads the parts of an entity, one after the other. It is nil for one without parts, also
// for one that says it has some: that is a text then.
func partsOf(e *message.Entity) *textproto.MultipartReader {
	kind, parameters, err := e.Header.ContentType()
	if err != nil {
		kind, parameters = unreadableKind(e.Header.Get("Content-Type")), nil
	}
	if !strings.HasPrefix(kind, "multipart/") {
		return nil
	}
	body := bufio.NewReaderSize(e.Body, preamble)
	e.Body = body
	start, _ := body.Peek(preamble)
	boundary := parameters["boundary"]
	if boundary == "" || !regexp.MustCompile(`(?m)^--`+regexp.QuoteMeta(boundary)+`(--)?[ \t]*\r?$`).Match(start) {
		found := opening.FindSubmatch(start)
		if found == nil {
			e.Header.SetContentType("text/plain", nil)
			return nil
		}
		boundary = string(found[1])
	}
	return textproto.NewMultipartReader(body, boundary)
}

// isEnd reports whether err, of reading the next part, is about the end: a mail may lack
// the line at its end.
func isEnd(err error) bool {
	return errors.Is(err, io.EOF) || strings.HasSuffix(err.Error(), ": "+io.EOF.Error()) // the library does not wrap it
}

// utf7 is a run of characters that UTF-7 writes as numbers (RFC 2152).
var utf7 = regexp.MustCompile(`\+[A-Za-z0-9+/]*-?`)

// fromUTF7 decodes a text. What is no UTF-7 of it stays as it is.
func fromUTF7(text string) string {
	return utf7.ReplaceAllStringFunc(text, func(run string) string {
		digits := strings.TrimSuffix(run[1:], "-")
		if digits == "" && run != "+" {
			return "+"
		}
		b, err := base64.RawStdEncoding.DecodeString(digits)
		if err != nil || len(b)%2 != 0 || len(b) == 0 {
			return run
		}
		units := make([]uint16, 0, len(b)/2)
		for i := 0; i < len(b); i += 2 {
			units = append(units, uint16(b[i])<<8|uint16(b[i+1]))
		}
		return string(utf16.Decode(units))
	})
}

func isUTF7(charset string) bool {
	switch strings.ToLower(charset) {
	case "utf-7", "utf7", "csutf7", "unicode-1-1-utf-7", "x-unicode-1-1-utf-7":
		return true
	}
	return false
}
