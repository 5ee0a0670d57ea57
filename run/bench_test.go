package run_test

import (
	"testing"

	"agenthost/llm"
	"agenthost/run"
)

// BenchmarkStep is a plain answer: a message in, two deltas, one commit out.
func BenchmarkStep(b *testing.B) {
	q := ask("r1", "hello")
	deltas := []run.Signal{
		{Kind: run.Emission, Delta: llm.Delta{Text: "hello, "}},
		{Kind: run.Emission, Delta: llm.Delta{Text: "Ana", Finish: llm.FinishStop}},
	}
	end := run.Signal{Kind: run.StreamEnd, Called: []run.Event{{Provider: "p", Model: "m"}}}
	b.ReportAllocs()
	for b.Loop() {
		s, _ := run.Step(run.State{}, q, run.Limits{Window: 100_000})
		for _, d := range deltas {
			s, _ = run.Step(s, d, run.Limits{Window: 100_000})
		}
		run.Step(s, end, run.Limits{Window: 100_000})
	}
}

// BenchmarkFold is the log of that plain answer.
func BenchmarkFold(b *testing.B) {
	s := open(b, run.Limits{})
	s.send(ask("r1", "hello"))
	s.send(say("hello, Ana"))
	log := s.log
	b.ReportAllocs()
	for b.Loop() {
		var state run.State
		for _, e := range log {
			state = run.Fold(state, e)
		}
	}
}
