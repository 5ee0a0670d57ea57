package irc

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"agenthost/plugins/internal/markdown"
)

const (
	lineLength      = 512 // bytes, with the name before it and the line break
	longestTarget   = 64
	longestUser     = 11
	longestHost     = 63
	channelPrefixes = "#&+!"
)

// overhead is how many bytes of a line are not the text, as other people get it.
func overhead(prefix, target int) int {
	return len(":") + prefix + len(" PRIVMSG ") + target + len(" :") + len("\r\n")
}

// longestPrefix is how long nick!user@host can get. A nick that is taken gets up to
// maxNickTries letters more.
func longestPrefix(nick string) int {
	return len(nick) + maxNickTries + len("!") + longestUser + len("@") + longestHost
}

// clean makes one line of a text, and no question to a client.
var clean = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\x00", "", "\x01", "").Replace

// dialect has the codes that clients have agreed on. A client that knows one of them
// less shows the text without it.
var dialect = markdown.Dialect{
	Bold: markdown.Around("\x02"), Italic: markdown.Around("\x1d"), Strike: markdown.Around("\x1e"), Code: markdown.Around("\x11"),
	Blocks: "\n",
}

// cut divides a text into pieces of at most n bytes, never inside a rune.
func cut(text string, n int) []string {
	n = max(n, utf8.UTFMax)
	var pieces []string
	for len(text) > n {
		at := n
		for at > 0 && !utf8.RuneStart(text[at]) {
			at--
		}
		if at == 0 {
			at = n // these bytes are no UTF-8
		}
		pieces = append(pieces, text[:at])
		text = text[at:]
	}
	return append(pieces, text)
}

// isTarget reports whether a line can be sent to this name, and to this alone.
func isTarget(name string) bool {
	return name != "" && !strings.ContainsAny(name, " ,\r\n\x00\a") && !strings.ContainsAny(name[:1], ":$@")
}

// isNick reports whether servers may take this nick.
func isNick(nick string) bool {
	for i, r := range nick {
		special := r >= utf8.RuneSelf || strings.ContainsRune("[]\\`_^{|}", r)
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && !special && (i == 0 || !strings.ContainsRune("0123456789-", r)) {
			return false
		}
	}
	return nick != ""
}

// decode reads a text in UTF-8, or in the charset of old clients.
func decode(text string) string {
	if utf8.ValidString(text) {
		return text
	}
	decoded, err := charmap.Windows1252.NewDecoder().String(text)
	if err != nil {
		return strings.ToValidUTF8(text, "\uFFFD")
	}
	return decoded
}

// plain removes the codes of colours and fonts.
func plain(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '\x03':
			i += 1 + colour(text[i+1:], isDigit, 2)
		case c == '\x04':
			i += 1 + colour(text[i+1:], isHex, 6)
		case c < ' ' && c != '\t' || c == '\x7f':
			i++
		default:
			b.WriteByte(c)
			i++
		}
	}
	return b.String()
}

// colour is the length of a colour and of one behind it.
func colour(text string, is func(byte) bool, most int) int {
	n := run(text, is, most)
	if n > 0 && n < len(text) && text[n] == ',' {
		if behind := run(text[n+1:], is, most); behind > 0 {
			n += 1 + behind
		}
	}
	return n
}

func run(text string, is func(byte) bool, most int) int {
	n := 0
	for n < most && n < len(text) && is(text[n]) {
		n++
	}
	return n
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'f' }

// foldings are the letters outside of a to z that networks take for the same, by what they
// call it. In names there is no case beyond ASCII: #Über and #über are two channels.
var foldings = map[string]*strings.Replacer{
	"ascii":          strings.NewReplacer(),
	"rfc1459":        strings.NewReplacer("[", "{", "]", "}", "\\", "|", "~", "^"),
	"rfc1459-strict": strings.NewReplacer("[", "{", "]", "}", "\\", "|"),
}

// fold makes names the same that a network takes for the same. One that folds in a way of its
// own folds Unicode.
func fold(name, mapping string) string {
	more, ok := foldings[cmp.Or(strings.ToLower(mapping), "rfc1459")]
	if !ok {
		return strings.ToLower(name)
	}
	folded := []byte(name)
	for i, c := range folded {
		if 'A' <= c && c <= 'Z' {
			folded[i] = c - 'A' + 'a'
		}
	}
	return more.Replace(string(folded))
}
