package run_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"agenthost/llm"
	"agenthost/run"
)

func result(call, text string) llm.Message {
	return llm.Message{Role: llm.Tool, Parts: []llm.Part{{Type: llm.ToolResult, Call: call, Name: "look", Text: text}}}
}

func calls(call string) llm.Message {
	return llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.ToolCall, Call: call, Name: "look"}}}
}

func TestShownShortensOldResults(t *testing.T) {
	big := "begin " + strings.Repeat("漢字 ", 3000) + "end"
	messages := []llm.Message{
		llm.UserText(big), calls("a"), result("a", big), calls("b"), result("b", "small"), calls("c"), result("c", big),
	}
	before := encode(t, messages)
	shown := run.Shown(messages, 5, 0)
	if encode(t, messages) != before {
		t.Error("the messages themselves changed")
	}
	for i := range messages {
		changed := encode(t, shown[i]) != encode(t, messages[i])
		if changed != (i == 2) {
			t.Errorf("message %d: changed %t", i, changed)
		}
	}
	text := shown[2].Parts[0].Text
	var out int
	head, rest, _ := strings.Cut(text, "\n[… ")
	if _, err := fmt.Sscanf(rest, "%d bytes are left out here …]", &out); err != nil {
		t.Fatalf("got %q, want a mark", text)
	}
	_, tail, _ := strings.Cut(rest, "\n")
	if len(head)+out+len(tail) != len(big) || !utf8.ValidString(text) || len(text) > 2<<10 || !strings.HasPrefix(text, "begin") || !strings.HasSuffix(text, "end") {
		t.Errorf("got %d + %d + %d bytes of %d: %q", len(head), out, len(tail), len(big), text)
	}
	if diff := cmp.Diff(shown, run.Shown(messages, 5, 0)); diff != "" {
		t.Errorf("not the same again:\n%s", diff)
	}
}

// The edge between what is sent short and what is not moves seldom, never back,
// and is the same for who reads the log.
func TestShortMovesInSteps(t *testing.T) {
	const window, turns = 100_000, 60
	s := open(t, run.Limits{Window: window})
	var edges []int
	for i := range turns {
		s.send(ask(fmt.Sprint("r", i), "look"))
		s.send(use("a"))
		r := done(s.state.Run.Calls[0].ID)
		r.Result = strings.Repeat("1234 ", 1200) // some 2700 tokens
		var effects []run.Effect
		effects = s.send(r)
		edge := effects[len(effects)-1].Short
		edges = append(edges, edge)
		if i%10 == 5 {
			s.crash()
			effects = s.resume()
			if got := effects[len(effects)-1].Short; got != edge {
				t.Fatalf("turn %d: the edge is at %d, after a crash at %d", i, edge, got)
			}
		}
		s.send(say("seen"))
	}
	moves := 0
	for i := 1; i < len(edges); i++ {
		if edges[i] < edges[i-1] {
			t.Fatalf("the edge went back: %v", edges)
		}
		if edges[i] > edges[i-1] {
			moves++
		}
	}
	if moves == 0 || moves > turns/4 {
		t.Errorf("the edge moved %d times: %v", moves, edges)
	}
	if edges[5] != 0 {
		t.Errorf("something is short while little has been said: %v", edges)
	}
}

// Only as far as something is cut are the messages looked at again for each call.
func TestShortEndsBehindTheLastCut(t *testing.T) {
	talk := func(s *session, turns int) (last run.Effect) {
		for i := range turns {
			effects := s.send(ask(fmt.Sprint("t", i), strings.Repeat("words ", 100)))
			last = effects[len(effects)-1]
			s.send(say("yes"))
		}
		return last
	}
	plain := open(t, run.Limits{Window: 10_000})
	if e := talk(plain, 40); e.Kind != run.InvokeModel || e.Short != 0 {
		t.Errorf("of words alone: got %+v", e)
	}
	s := open(t, run.Limits{Window: 10_000})
	s.send(ask("r1", "look"))
	s.send(use("a"))
	r := done("a")
	r.Result = strings.Repeat("1234 ", 1000)
	s.send(r)
	s.send(say("seen"))
	e := talk(s, 40)
	if e.Kind != run.InvokeModel || e.Short != 3 {
		t.Fatalf("got %+v, want the first three messages", e)
	}
	if text := run.Shown(s.state.Messages, e.Short, 0)[2].Parts[0].Text; len(text) >= len(r.Result) {
		t.Errorf("the result is shown whole, %d bytes of it", len(text))
	}
}

func TestShownFits(t *testing.T) {
	var many []llm.Message
	for i := range 100 {
		id := fmt.Sprint("c", i)
		many = append(many, llm.UserText("question "+long), calls(id), result(id, long), llm.UserText("and?"))
	}
	signed := llm.Message{Role: llm.Assistant, Parts: []llm.Part{
		{Type: llm.Reasoning, Text: strings.Repeat(long, 100), Provider: "p", Meta: []byte(`"s"`)},
	}}
	tests := map[string]struct {
		messages []llm.Message
		room     int
		most     int // tokens
	}{
		"one huge message":   {[]llm.Message{llm.UserText(strings.Repeat(long, 500))}, 1000, 1000},
		"huge in the past":   {[]llm.Message{llm.UserText(strings.Repeat(long, 500)), llm.UserText("and?")}, 1000, 1000},
		"many turns":         {many, 2000, 2200}, // and the words that began the turn
		"enough room":        {many[:4], 10_000, 10_000},
		"what cannot be cut": {[]llm.Message{llm.UserText("hello"), signed, llm.UserText("and?")}, 500, 600},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			shown := run.Shown(tt.messages, 0, tt.room)
			if got := run.Estimate(shown); got > tt.most || len(shown) == 0 {
				t.Errorf("got %d tokens in %d messages, want %d at most", got, len(shown), tt.most)
			}
			wantPairs(t, shown)
			last := tt.messages[len(tt.messages)-1]
			if got := shown[len(shown)-1]; got.Role != last.Role {
				t.Errorf("last message: got %+v", got)
			}
		})
	}
}

func TestPieces(t *testing.T) {
	const room = 2000
	var messages []llm.Message
	for i := range 50 {
		id := fmt.Sprint("c", i)
		text := long
		if i == 20 {
			text = strings.Repeat(long, 200)
		}
		messages = append(messages, llm.UserText("question "+long), calls(id), result(id, text))
	}
	n := 0
	for i, piece := range run.Pieces(messages, room) {
		if got := run.Estimate(piece); got > room {
			t.Errorf("piece %d: %d tokens", i, got)
		}
		wantPairs(t, piece)
		n += len(piece)
	}
	if n != len(messages) {
		t.Errorf("got %d messages, want all %d", n, len(messages))
	}
	if got := run.Pieces(nil, room); got != nil {
		t.Errorf("of nothing: got %v", got)
	}
}

func TestIsSummary(t *testing.T) {
	said := llm.UserText("I say [Summary of things]")
	if !run.IsSummary(run.Summary("they met")) || run.IsSummary(said) {
		t.Error("a summary is told apart by how it begins")
	}
}
