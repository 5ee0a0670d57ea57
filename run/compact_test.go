package run_test

import (
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/run"
)

// talk makes a session of n settled runs with long words.
func talk(t testing.TB, n int, lim run.Limits) *session {
	s := open(t, lim)
	for range n {
		s.send(ask("r0", "question "+long))
		s.send(say("answer " + long))
	}
	return s
}

func TestCompaction(t *testing.T) {
	failed := run.Signal{Error: &run.Error{Code: llm.CodeProviderUnavailable}}
	tests := map[string]struct {
		end     run.Signal
		first   string // of the messages after it
		summary bool
	}{
		"a summary":         {run.Signal{Summary: "they talked"}, "they talked", true},
		"a summary too big": {run.Signal{Summary: strings.Repeat(long, 40)}, "question", false},
		"no summary":        {run.Signal{}, "question", false},
		"failed":            {failed, "question", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := talk(t, 12, run.Limits{})
			s.lim.Window = run.Estimate(s.state.Messages) // the next question does not fit in 0.8 of it
			s.want(s.send(ask("r1", "short")), "compact 10")
			tt.end.Kind = run.CompactEnd
			tt.end.Called = []run.Event{{Provider: "p"}}
			s.want(s.send(tt.end), "invoke_model")
			s.want(s.send(say("hi")),
				"commit [run.started message model.called compacted message reply run.finished]", "publish reply final=true")

			e := s.log[len(s.log)-4]
			if e.Type != run.Compacted || (e.Summary != "") != tt.summary || e.After >= e.Before {
				t.Errorf("event: got %+v", e)
			}
			first := s.state.Messages[0]
			if first.Role != llm.User || !strings.Contains(first.Text(), tt.first) || strings.HasPrefix(first.Text(), "[Summary") != tt.summary {
				t.Errorf("first message: got %.80q", first.Text())
			}
			if got := len(turns(s.state.Messages)); got != 8 {
				t.Errorf("got %d turns left, want 8", got)
			}
		})
	}
}

// turns are the messages of the user, without a summary.
func turns(messages []llm.Message) (ts []llm.Message) {
	for _, m := range messages {
		if m.Role == llm.User && !strings.HasPrefix(m.Text(), "[Summary") {
			ts = append(ts, m)
		}
	}
	return ts
}

func TestCompactionNeedsACause(t *testing.T) {
	s := talk(t, 12, run.Limits{})
	size := run.Estimate(s.state.Messages) + 100 // with the next question
	tests := map[string]struct {
		lim  run.Limits
		want string
	}{
		"window unknown":   {run.Limits{}, "invoke_model"},
		"room enough":      {run.Limits{Window: 2 * size}, "invoke_model"},
		"overhead counts":  {run.Limits{Window: 2 * size, Overhead: size}, "compact 10"},
		"little to gain":   {run.Limits{Window: size, Keep: 13}, "compact 12"},
		"nothing to gain":  {run.Limits{Window: size, Keep: 25}, "invoke_model"},
		"more is kept":     {run.Limits{Window: size, Keep: 10}, "compact 6"},
		"a tenth at least": {run.Limits{Window: size, Keep: 12}, "invoke_model"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			old := s.state
			sig := ask("r1", "short")
			_, effects := run.Step(old, sig, tt.lim)
			s.want(effects, tt.want)
		})
	}
}

// A single run can be too long too: it is cut between a result and the next
// answer, and the words that began it stay.
func TestCompactionInsideARun(t *testing.T) {
	s := open(t, run.Limits{Keep: 2, Window: 500})
	s.send(ask("r1", "the task"))
	for s.state.Phase != run.Compacting {
		s.send(use("look"))
		r := done(s.state.Run.Calls[0].ID)
		r.Result = long
		s.send(r)
	}
	s.send(run.Signal{Kind: run.CompactEnd})
	m := s.state.Messages
	if m[0].Text() != "the task" || m[1].Role != llm.Assistant || m[2].Role != llm.Tool {
		t.Errorf("got %s %q, %s, %s", m[0].Role, m[0].Text(), m[1].Role, m[2].Role)
	}
	wantPairs(t, m)
	s.send(say("done"))
	s.wantEnd(run.OutcomeSettled, "")
}

func TestTrimKeepsTheEarlierSummary(t *testing.T) {
	s := in(t, run.Compacting)
	s.send(run.Signal{Kind: run.CompactEnd, Summary: "they talked"})
	s.send(say(long))
	s.want(s.send(ask("r2", "go on")), "compact 3")
	s.send(run.Signal{Kind: run.CompactEnd})
	if m := s.state.Messages; len(m) != 2 || !strings.HasSuffix(m[0].Text(), "they talked") || m[1].Text() != "go on" {
		t.Errorf("got %+v", m)
	}
}

func TestSummaryAloneIsNotSummedUp(t *testing.T) {
	s := in(t, run.Compacting)
	s.send(run.Signal{Kind: run.CompactEnd, Summary: long})
	s.send(say("short"))
	s.want(s.send(ask("r2", "go on")), "invoke_model")
}

func TestSteerDuringCompaction(t *testing.T) {
	s := in(t, run.Compacting)
	s.send(steer("r2", "one more"))
	s.want(s.send(run.Signal{Kind: run.CompactEnd, Summary: "short"}), "invoke_model")
	if m := s.state.Messages[len(s.state.Messages)-1]; m.Text() != "one more" {
		t.Errorf("last message: got %q", m.Text())
	}
}

func TestEstimate(t *testing.T) {
	tests := map[string]struct {
		text     string
		min, max int
	}{
		"nothing": {"", 4, 4},
		"english": {strings.Repeat("the quick brown fox ", 50), 200, 300},
		"greek":   {strings.Repeat("λόγος ", 50), 100, 200},
		"han":     {strings.Repeat("漢字", 50), 100, 110},
		"emoji":   {strings.Repeat("🙂", 50), 100, 110},
		"digits":  {strings.Repeat("1234", 50), 100, 110},
	}
	for name, tt := range tests {
		if got := run.Estimate([]llm.Message{llm.UserText(tt.text)}); got < tt.min || got > tt.max {
			t.Errorf("%s: got %d, want %d to %d", name, got, tt.min, tt.max)
		}
	}
	picture := llm.Message{Role: llm.User, Parts: []llm.Part{{Type: llm.MediaPart, Media: &llm.Media{}}}}
	if got := run.Estimate([]llm.Message{picture}); got < 500 {
		t.Errorf("picture: got %d, want it to count", got)
	}
}

// wantPairs checks that each call is followed by its result, and each result
// follows its call.
func wantPairs(t testing.TB, messages []llm.Message) {
	t.Helper()
	open := map[string]bool{}
	for i, m := range messages {
		for _, p := range m.Parts {
			switch p.Type {
			case llm.ToolCall:
				open[p.Call] = true
			case llm.ToolResult:
				if !open[p.Call] {
					t.Fatalf("message %d: result %q without its call", i, p.Call)
				}
				delete(open, p.Call)
			}
		}
		if m.Role != llm.Assistant && len(open) > 0 {
			t.Fatalf("message %d: calls without result: %v", i, open)
		}
	}
}
