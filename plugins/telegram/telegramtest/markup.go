package telegramtest

import (
	"html"
	"regexp"
	"strings"
)

var tag = regexp.MustCompile(`<(/?)([a-zA-Z-]*)([^<>]*)>|<`)

var known = map[string]bool{
	"b": true, "strong": true, "i": true, "em": true, "u": true, "ins": true, "s": true, "strike": true, "del": true,
	"a": true, "code": true, "pre": true, "blockquote": true, "tg-spoiler": true, "span": true,
}

// readMarkup is what people see of a text.
func readMarkup(text, mode string, longest int) (string, *Refusal) {
	if strings.EqualFold(mode, "HTML") {
		var refused *Refusal
		if text, refused = readHTML(text); refused != nil {
			return "", refused
		}
	}
	if units(text) > longest {
		if longest == maxCaption {
			return "", badRequest("message caption is too long")
		}
		return "", badRequest("message is too long")
	}
	return text, nil
}

func readHTML(text string) (string, *Refusal) {
	var open []string
	var b strings.Builder
	at := 0
	for _, m := range tag.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(html.UnescapeString(text[at:m[0]]))
		at = m[1]
		if m[4] < 0 {
			return "", badRequest("can't parse entities: Unclosed start tag at byte offset %d", m[0])
		}
		name := strings.ToLower(text[m[4]:m[5]])
		switch {
		case !known[name]:
			return "", badRequest("can't parse entities: Unsupported start tag %q at byte offset %d", name, m[0])
		case text[m[2]:m[3]] == "":
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			return "", badRequest("can't parse entities: Unexpected end tag at byte offset %d", m[0])
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return "", badRequest("can't parse entities: Can't find end tag corresponding to start tag %q", open[len(open)-1])
	}
	b.WriteString(html.UnescapeString(text[at:]))
	return b.String(), nil
}
