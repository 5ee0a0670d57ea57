package run

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"agenthost/llm"
)

// A result longer than wholeResult is sent short once it is old.
const (
	wholeResult = 4 << 10
	shortResult = 1536 // bytes that are left of it
)

// Large results are sent whole while what came after them is less than the
// window/wholeShare. From then on they are sent short, not one by one but in
// steps of window/stepShare, so that what providers keep of a prompt is of use
// for many calls.
const (
	wholeShare = 4
	stepShare  = 8
)

// An aged says which messages are sent with their large results short: those
// before edge. It follows from the messages and the window alone, and moves on
// only.
type aged struct {
	edge   int
	short  int // behind the last of these that has such a result: most have none
	weight int // of the messages before edge, as they are
	saved  int // of it by sending them short
}

// age moves the edge on.
func (s *State) age(window int) {
	step := window / stepShare
	if step == 0 {
		return
	}
	old := (s.tokens() - window/wholeShare) / step * step
	for a := &s.aged; a.edge < len(s.Messages) && a.weight < old; a.edge++ {
		m := &s.Messages[a.edge]
		w := estimate(m)
		if a.weight+w > old {
			return
		}
		a.weight += w
		if short, ok := shortenResults(*m); ok {
			a.saved += w - estimate(&short)
			a.short = a.edge + 1
		}
	}
}

// Shown is messages as a model is sent them: in the first short of them large
// results are cut. What is still more than room, unless that is 0, is cut
// further: long texts first, then the oldest turns. messages stay as they are.
func Shown(messages []llm.Message, short, room int) []llm.Message {
	shown := edited(messages, short, shortenResults)
	if room <= 0 || Estimate(shown) <= room {
		return shown
	}
	for limit := 1 << 20; limit >= 512; limit /= 2 {
		shown = edited(messages, len(messages), func(m llm.Message) (llm.Message, bool) { return shortenTexts(m, limit) })
		if Estimate(shown) <= room {
			return shown
		}
	}
	return newest(shown, room)
}

// edited is messages with what edit makes of the first n; without a change it
// is messages itself.
func edited(messages []llm.Message, n int, edit func(llm.Message) (llm.Message, bool)) []llm.Message {
	out := messages
	for i := range min(n, len(messages)) {
		m, changed := edit(messages[i])
		if !changed {
			continue
		}
		if &out[0] == &messages[0] {
			out = slices.Clone(messages)
		}
		out[i] = m
	}
	return out
}

// newest is the end of messages as far as there is room, at least the last
// answer or question with what belongs to it.
func newest(messages []llm.Message, room int) []llm.Message {
	n := 0
	for i := len(messages) - 1; i > 0; i-- {
		if room -= estimate(&messages[i]); room < 0 && n > 0 {
			break
		}
		if messages[i].Role != llm.Tool {
			n = i
		}
	}
	return shortened(messages, n, "")
}

func shortenResults(m llm.Message) (llm.Message, bool) {
	if m.Role != llm.Tool {
		return m, false
	}
	return shorten(m, wholeResult, shortResult)
}

func shortenTexts(m llm.Message, limit int) (llm.Message, bool) { return shorten(m, limit, limit) }

// shorten leaves keep bytes of each text and result of m that is longer than
// limit. What a provider has signed is not touched.
func shorten(m llm.Message, limit, keep int) (llm.Message, bool) {
	changed := false
	for i, p := range m.Parts {
		if len(p.Text) <= limit || p.Type != llm.Text && p.Type != llm.ToolResult || p.Meta != nil {
			continue
		}
		if !changed {
			m.Parts, changed = slices.Clone(m.Parts), true
		}
		m.Parts[i].Text = clip(p.Text, keep)
	}
	return m, changed
}

// clip is the beginning and the end of text, and between them how much is left
// out.
func clip(text string, keep int) string {
	head, tail := keep*2/3, len(text)-keep/3
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return text[:head] + fmt.Sprintf("\n[… %d bytes are left out here …]\n", tail-head) + text[tail:]
}

// Pieces cuts messages into pieces of room at most, so that each can be summed
// up by itself. None begins with a result whose call is in another, and what
// has no room alone is cut as Shown does.
func Pieces(messages []llm.Message, room int) [][]llm.Message {
	var pieces [][]llm.Message
	weight := room + 1 // nothing fits a piece that has not begun
	for len(messages) > 0 {
		n := 1
		for n < len(messages) && messages[n].Role == llm.Tool {
			n++
		}
		unit := Shown(messages[:n:n], n, room)
		messages = messages[n:]
		w := Estimate(unit)
		if weight+w > room {
			pieces, weight = append(pieces, nil), 0
		}
		last := &pieces[len(pieces)-1]
		*last = append(*last, unit...)
		weight += w
	}
	return pieces
}

// Summary is a summary as the model is shown it. It stands where a user speaks:
// what was said to an agent never becomes its instructions.
func Summary(text string) llm.Message { return llm.UserText(summaryMark + text) }

// IsSummary reports whether m is what Summary makes.
func IsSummary(m llm.Message) bool {
	return m.Role == llm.User && strings.HasPrefix(m.Text(), summaryMark)
}
