package run_test

import (
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/run"
)

// counted is an answer for which its model has counted so many tokens.
func counted(text string, input, output int64) run.Signal {
	sig := say(text)
	sig.Called = []run.Event{{Provider: "p", Model: "m", Usage: &llm.Usage{Input: input, Output: output}}}
	return sig
}

// What a model has counted decides, not what was estimated.
func TestCompactionByWhatWasCounted(t *testing.T) {
	tests := map[string]struct {
		factor float64 // tokens of the model in an estimated one
		want   string
	}{
		"as estimated":          {1, "invoke_model"},
		"twice as much":         {2, "compact 8"},
		"half":                  {0.5, "invoke_model"},
		"out of all proportion": {1000, "invoke_model"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := open(t, run.Limits{Window: 1 << 20})
			for range 12 {
				s.send(ask("r0", "question "+long))
				n := float64(run.Estimate(s.state.Messages)) * tt.factor
				s.send(counted("answer "+long, int64(n), int64(170*tt.factor)))
			}
			s.lim.Window = run.Estimate(s.state.Messages) * 3 / 2
			s.lim.Keep = 9
			s.want(s.send(ask("r1", "short")), tt.want)
		})
	}
}

// The scale outlives a compaction, and what is measured in between does not
// count for the conversation.
func TestGaugeAfterCompaction(t *testing.T) {
	s := open(t, run.Limits{Keep: 1})
	s.send(ask("r1", long))
	s.send(counted(long, int64(2*run.Estimate(s.state.Messages)), 300))
	before := s.state.Gauge
	if got := before.Scale["p/m"]; got < 1900 || got > 2000 || before.Tokens == 0 {
		t.Fatalf("got %+v, want some 2000 in a thousand", before)
	}
	s.lim.Window = 700
	s.want(s.send(ask("r2", "hello")), "compact 2")
	s.send(run.Signal{Kind: run.CompactEnd, Summary: "words", Called: []run.Event{{Provider: "p", Model: "m", Usage: &llm.Usage{Input: 9999}}}})
	if g := s.state.Gauge; g.Tokens != 0 || g.Scale["p/m"] != before.Scale["p/m"] {
		t.Errorf("got %+v, want only the scale of %+v", g, before)
	}
	s.send(counted("fine", int64(run.Estimate(s.state.Messages)), 5))
	if got := s.state.Gauge.Scale["p/m"]; got >= before.Scale["p/m"] || got < 1500 {
		t.Errorf("scale: got %d, want it a quarter of the way from %d to 1000", got, before.Scale["p/m"])
	}
	s.crash()
	s.same()
}

func TestGaugeIsPerModel(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", long))
	sig := counted("a", 400, 1)
	sig.Called[0].Model = "other"
	old := s.state
	s.send(sig)
	s.send(ask("r2", "b"))
	s.send(counted("c", 200, 1))
	if g := s.state.Gauge; g.Model != "p/m" || g.Scale["p/other"] <= g.Scale["p/m"] || len(old.Gauge.Scale) != 0 {
		t.Errorf("got %+v", g)
	}
}

// A failed call and one that is not of the conversation measure nothing.
func TestGaugeTakesAnswersOnly(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", long))
	s.send(run.Signal{Kind: run.Fault, Called: []run.Event{{
		Provider: "p", Usage: &llm.Usage{Input: 100}, Error: &run.Error{Code: llm.CodeProviderUnavailable},
	}}})
	if g := s.state.Gauge; g.Tokens != 0 || g.Scale != nil {
		t.Errorf("got %+v, want nothing", g)
	}
}

func tooLong() run.Signal {
	return run.Signal{Kind: run.Fault, TooLong: true, Error: &run.Error{Code: llm.CodeCompactionFailed}}
}

func TestTooLong(t *testing.T) {
	s := talk(t, 12, run.Limits{Window: 1 << 20})
	s.send(ask("r1", "short"))
	effects := s.send(tooLong())
	s.want(effects, "compact 18") // of eight turns more than half would be left
	if room := effects[0].Room; room <= 0 || room > run.Estimate(s.state.Messages)/2 {
		t.Errorf("room: got %d, want half", room)
	}
	effects = s.send(run.Signal{Kind: run.CompactEnd, Summary: "they talked"})
	s.want(effects, "invoke_model")
	if effects[0].Room == 0 {
		t.Error("the second call has no bound")
	}
	s.send(tooLong())
	s.wantEnd(run.OutcomeFailed, llm.CodeCompactionFailed)

	s.want(s.send(ask("r2", "again")), "invoke_model") // one more try for each call
	s.want(s.send(tooLong()), "compact 7")
}

func TestTooLongWithNothingToSumUp(t *testing.T) {
	s := open(t, run.Limits{Window: 1 << 20})
	s.send(ask("r1", strings.Repeat(long, 20)))
	effects := s.send(tooLong())
	s.want(effects, "invoke_model")
	shown := run.Shown(s.state.Messages, effects[0].Short, effects[0].Room)
	if got, whole := run.Estimate(shown), run.Estimate(s.state.Messages); got > whole/2 || len(shown) != 1 {
		t.Errorf("got %d tokens of %d", got, whole)
	}
	s.send(say("fine"))
	s.wantEnd(run.OutcomeSettled, "")
}

// When the turns to keep do not fit, fewer are kept.
func TestCompactionKeepsWhatFits(t *testing.T) {
	s := open(t, run.Limits{})
	for range 8 {
		s.send(ask("r0", "question "+strings.Repeat(long, 4)))
		s.send(say("answer"))
	}
	s.lim.Window = run.Estimate(s.state.Messages) / 2
	effects := s.send(ask("r1", "short"))
	s.want(effects, "compact 10")
	s.send(run.Signal{Kind: run.CompactEnd, Summary: "they talked"})
	if got := run.Estimate(s.state.Messages); got > s.lim.Window {
		t.Errorf("%d tokens are left, of a window of %d", got, s.lim.Window)
	}
}

// A message that alone is larger than the window is sent short, where the
// window is known.
func TestStrictWindow(t *testing.T) {
	for _, strict := range []bool{false, true} {
		s := open(t, run.Limits{Window: 1000, Strict: strict})
		effects := s.send(ask("r1", strings.Repeat(long, 20)))
		s.want(effects, "invoke_model")
		shown := run.Shown(s.state.Messages, effects[0].Short, effects[0].Room)
		if fits := run.Estimate(shown) <= 1000; fits != strict {
			t.Errorf("strict %t: sent are %d tokens", strict, run.Estimate(shown))
		}
	}
}
