package run_test

import (
	"testing"

	"agenthost/llm"
	"agenthost/run"
)

var (
	phases = []run.Phase{
		run.Idle, run.Invoking, run.Streaming, run.Dispatching, run.Compacting, run.InSuspense, run.Settled, run.Faulted,
	}
	signals = []run.SignalKind{
		run.Submit, run.Emission, run.StreamEnd, run.Held, run.ToolSettled, run.Answered, run.CompactEnd, run.Abort, run.Fault,
	}
)

// in brings a session into a phase.
func in(t testing.TB, phase run.Phase) *session {
	s := open(t, run.Limits{Keep: 1})
	switch phase {
	case run.Idle:
		s.state.Phase = run.Idle
	case run.Invoking:
		s.send(ask("r1", "hello"))
	case run.Streaming:
		s.send(ask("r1", "hello"))
		s.send(run.Signal{Kind: run.Emission, Delta: llm.Delta{Text: "par"}})
	case run.Dispatching:
		s.send(ask("r1", "hello"))
		s.send(use("now"))
	case run.Compacting:
		s.send(ask("r0", long))
		s.send(say(long))
		s.lim.Window = 200
		s.send(ask("r1", "hello"))
	case run.InSuspense:
		s.send(ask("r1", "hello"))
		s.send(use("now"))
		s.send(waits("now", run.ForApproval))
	case run.Settled:
		s.send(ask("r1", "hello"))
		s.send(say("hi"))
	case run.Faulted:
		s.send(ask("r1", "hello"))
		s.send(run.Signal{Kind: run.Fault})
	}
	s.wantPhase(phase)
	return s
}

// one is a signal of each kind, the most likely one.
func one(kind run.SignalKind) run.Signal {
	switch kind {
	case run.Submit:
		return ask("r9", "and this?")
	case run.Emission:
		return run.Signal{Kind: kind, Delta: llm.Delta{Text: "tial"}}
	case run.StreamEnd:
		return say("hi")
	case run.ToolSettled:
		return done("now")
	case run.Answered:
		return answered("now", run.Deny)
	case run.Held:
		return hold()
	case run.CompactEnd:
		return run.Signal{Kind: kind, Summary: "short"}
	default:
		return run.Signal{Kind: kind}
	}
}

func TestStepEveryCell(t *testing.T) {
	const (
		late   = "ignored: not expected in this phase"
		nobody = "ignored: nothing waits for this answer"
	)
	type row map[run.SignalKind][]string
	rest := row{
		run.Submit: {"invoke_model"}, run.Emission: {late}, run.StreamEnd: {late}, run.Held: {late}, run.ToolSettled: {late},
		run.Answered: {late}, run.CompactEnd: {late}, run.Abort: {late}, run.Fault: {late},
	}
	ended := func(events string) []string {
		return []string{"commit [" + events + "reply run.finished]", "publish error final=true"}
	}
	begun := "run.started message "
	plain := []string{"commit [" + begun + "message reply run.finished]", "publish reply final=true"}
	results := []string{"commit [tool.finished]", "invoke_model"}
	held := []string{
		"commit [" + begun + "approval.asked reply run.suspended]", "ask approval budget:1", "publish approval final=false",
	}
	tests := map[run.Phase]row{
		run.Idle: rest, run.Settled: rest, run.Faulted: rest,
		run.Invoking: {
			run.Submit:   {"commit [" + begun + "input.added]"},
			run.Emission: nil, run.StreamEnd: plain, run.Held: held, run.ToolSettled: {late}, run.Answered: {late},
			run.CompactEnd: {late}, run.Abort: ended(begun), run.Fault: ended(begun),
		},
		run.Streaming: {
			run.Submit:   {"commit [" + begun + "input.added]"},
			run.Emission: nil, run.StreamEnd: plain, run.Held: held, run.ToolSettled: {late}, run.Answered: {late},
			run.CompactEnd: {late}, run.Abort: ended(begun + "message "), run.Fault: ended(begun + "message "),
		},
		run.Dispatching: {
			run.Submit:   {"commit [input.added]"},
			run.Emission: {late}, run.StreamEnd: {late}, run.Held: {late}, run.ToolSettled: results, run.Answered: {nobody},
			run.CompactEnd: {late}, run.Abort: ended("tool.finished "), run.Fault: ended("tool.finished "),
		},
		run.Compacting: {
			run.Submit:   {"commit [" + begun + "input.added]"},
			run.Emission: {late}, run.StreamEnd: {late}, run.Held: held, run.ToolSettled: {late}, run.Answered: {late},
			run.CompactEnd: {"invoke_model"}, run.Abort: ended(begun), run.Fault: ended(begun),
		},
		run.InSuspense: {
			run.Submit:   {"commit [input.added]"},
			run.Emission: {late}, run.StreamEnd: {late}, run.Held: {late}, run.ToolSettled: results,
			run.Answered:   {"commit [approval.answered tool.finished]", "invoke_model"},
			run.CompactEnd: {late}, run.Abort: ended("tool.finished "), run.Fault: ended("tool.finished "),
		},
	}
	for _, phase := range phases {
		for _, kind := range signals {
			t.Run(string(phase)+" "+string(kind), func(t *testing.T) {
				want, ok := tests[phase][kind]
				if !ok {
					t.Fatal("no expectation for this cell")
				}
				s := in(t, phase)
				before := encode(t, s.state)
				effects := s.send(one(kind))
				s.want(effects, want...)
				if len(want) == 1 && want[0] == late && encode(t, s.state) != before {
					t.Errorf("an ignored signal changed the state:\n%s\n%s", before, encode(t, s.state))
				}
			})
		}
	}
}

func TestStepIgnores(t *testing.T) {
	foreign := done("now")
	foreign.Run = "r0"
	nameless := ask("", "hello")
	wordless := ask("r1", "hello")
	wordless.Message = nil
	empty := run.Signal{Kind: run.Submit, Run: "r2", Join: true}
	odd := waits("now", "coffee")
	idle := run.Signal{Kind: run.Held, Wait: &run.Wait{For: run.ForQuestion}}
	tests := map[string]struct {
		phase run.Phase
		sig   run.Signal
		want  string
	}{
		"unknown signal":           {run.Invoking, run.Signal{Kind: "wink"}, "not expected in this phase"},
		"signal of an ended run":   {run.Dispatching, foreign, "for another run"},
		"run without an id":        {run.Idle, nameless, "no run id or no message"},
		"run without a message":    {run.Settled, wordless, "no run id or no message"},
		"join without an input":    {run.Invoking, empty, "no input or no message"},
		"same run again":           {run.Invoking, ask("r1", "hello"), "this run is under way"},
		"unknown call":             {run.Dispatching, done("then"), "no such call is open"},
		"wait for nothing known":   {run.Dispatching, odd, "nothing to wait for"},
		"hold for nothing":         {run.Invoking, run.Signal{Kind: run.Held}, "nothing to wait for"},
		"hold for a question":      {run.Streaming, idle, "nothing to wait for"},
		"waits already":            {run.InSuspense, waits("now", run.ForQuestion), "the call waits already"},
		"no answer to an approval": {run.InSuspense, answered("now", "maybe"), "an approval is answered with approve or deny"},
		"answer to another call":   {run.InSuspense, answered("then", run.Approve), "nothing waits for this answer"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := in(t, tt.phase)
			before := encode(t, s.state)
			s.want(s.send(tt.sig), "ignored: "+tt.want)
			if after := encode(t, s.state); after != before {
				t.Errorf("state changed:\n got %s\nwant %s", after, before)
			}
		})
	}
}
