package doors

import (
	"strings"

	"agenthost/client"
)

// A Text makes one text of the chunks of a run and its reply, for clients that take
// nothing back: an empty line is between what counts no more, or came before tools
// were called, and what follows. The zero Text is ready to use.
type Text struct {
	run           string
	attempt, turn int
	said          string // of the present turn
	any           bool   // something was said before it
}

// Chunk is what is new by a chunk.
func (t *Text) Chunk(c client.Chunk) string {
	if c.Run != t.run || c.Attempt != t.attempt || c.Turn != t.turn || c.Restart {
		t.run, t.attempt, t.turn = c.Run, c.Attempt, c.Turn
		t.any, t.said = t.any || t.said != "", ""
	}
	return t.say(c.Text)
}

// End is what of the reply has not been said yet.
func (t *Text) End(reply string) string {
	rest, ok := strings.CutPrefix(reply, t.said)
	if !ok {
		t.any, t.said, rest = true, "", reply
	}
	return t.say(rest)
}

func (t *Text) say(text string) string {
	if text == "" {
		return ""
	}
	first := t.said == ""
	t.said += text
	if first && t.any {
		return "\n\n" + text
	}
	return text
}
