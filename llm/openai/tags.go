package openai

import "strings"

const (
	openTag  = "<think>"
	closeTag = "</think>"
)

// Tags take what a model thinks out of the begin of its text, where servers leave it
// that do not tell the two apart. The zero tags are at the begin.
type tags struct {
	state tagState
	held  string // may be the begin of a tag
}

// mostSpace is how much space a tag may have before it. A model that writes space without end
// is not about to think.
const mostSpace = 1 << 10

type tagState int

const (
	beforeTag tagState = iota // of what came, all may be space and half a tag
	insideTag
	behindTag // space before the text is left out
	noTag
)

// split is what text says and what it thinks, as far as that is known.
func (t *tags) split(text string) (said, thought string) {
	if t.state == noTag || text == "" {
		return text, ""
	}
	text, t.held = t.held+text, ""
	if t.state == beforeTag {
		begin := strings.TrimLeft(text, " \t\r\n")
		switch {
		case strings.HasPrefix(begin, openTag):
			t.state, text = insideTag, begin[len(openTag):]
		case strings.HasPrefix(openTag, begin) && len(text) <= mostSpace:
			t.held = text
			return "", ""
		default:
			t.state = noTag
			return text, ""
		}
	}
	if t.state == insideTag {
		inside, behind, closed := strings.Cut(text, closeTag)
		if !closed {
			whole := len(text) - halfTag(text)
			t.held = text[whole:]
			return "", text[:whole]
		}
		t.state, thought, text = behindTag, inside, behind
	}
	if text = strings.TrimLeft(text, " \t\r\n"); text != "" {
		t.state = noTag
	}
	return text, thought
}

// halfTag is how much of the end of text may be the begin of a closing tag.
func halfTag(text string) int {
	for n := min(len(text), len(closeTag)-1); n > 0; n-- {
		if strings.HasSuffix(text, closeTag[:n]) {
			return n
		}
	}
	return 0
}

// rest is what was held back, when no more text comes before something else.
func (t *tags) rest() (said, thought string) {
	held := t.held
	t.held = ""
	if t.state == insideTag {
		return "", held
	}
	return held, ""
}
