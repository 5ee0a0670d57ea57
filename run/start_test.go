package run_test

import (
	"testing"

	"agenthost/llm"
	"agenthost/run"
)

func safe(tool string) bool { return tool == "safe" }

func TestCountedAttemptIsWrittenFirst(t *testing.T) {
	s := open(t, run.Limits{})
	sig := ask("r1", "hello")
	sig.Attempt = 1
	s.want(s.send(sig), "commit [run.started message]", "invoke_model")

	s.crash()
	sig.Attempt = 2
	s.want(s.send(sig), "commit [run.started]", "invoke_model")
	s.want(s.send(sig), "ignored: this run is under way")
	s.want(s.send(say("hi")), "commit [message reply run.finished]", "publish reply final=true")
	if n := len(s.state.Messages); n != 2 {
		t.Errorf("got %d messages, want 2", n)
	}
}

// What died with the hosts of earlier tries is spent by the run and its session,
// once, although each try tells of all before it.
func TestLostCallsAreSpent(t *testing.T) {
	s := open(t, run.Limits{})
	sig := ask("r1", "hello")
	for i, tt := range []struct{ lost, spent int64 }{{30, 30}, {30, 30}, {70, 70}, {0, 70}} {
		sig.Attempt, sig.Lost = i+2, tt.lost
		s.send(sig)
		if s.state.Spent != tt.spent || s.state.Run.Spent != tt.spent {
			t.Errorf("try %d: got %d, of the run %d, want %d", i, s.state.Spent, s.state.Run.Spent, tt.spent)
		}
		s.crash()
	}
	if s.state.Spent != 70 {
		t.Errorf("the log tells of %d, want 70", s.state.Spent)
	}
}

// A run that is over at once has nothing before its end that could be found
// without it, however often it was tried and however long the conversation is.
func TestRunThatEndsAtOnce(t *testing.T) {
	answer := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: "no"}}}
	tests := map[string]struct {
		then    run.Signal
		want    []string
		reply   string
		outcome run.Outcome
		code    llm.Code
	}{
		"answered": {run.Signal{Kind: run.StreamEnd, Message: &answer}, []string{"commit [run.started message message reply run.finished]"}, "reply", run.OutcomeSettled, ""},
		"refused":  {run.Signal{Kind: run.Abort, Reason: "no"}, []string{"commit [run.started message reply run.finished]"}, "error", run.OutcomeStopped, llm.CodeCancelled},
		"failed":   {run.Signal{Kind: run.Fault}, []string{"commit [run.started message reply run.finished]"}, "error", run.OutcomeFailed, llm.CodeInternal},
	}
	for name, tt := range tests {
		for _, attempt := range []int{0, 2} {
			t.Run(name, func(t *testing.T) {
				s := open(t, run.Limits{Window: 1})
				sig := ask("r1", "hello")
				sig.Attempt, sig.Then = attempt, &tt.then
				s.want(s.send(sig), append(tt.want, "publish "+tt.reply+" final=true")...)
				s.wantEnd(tt.outcome, tt.code)
			})
		}
	}
	s := open(t, run.Limits{})
	sig := ask("r1", "hello")
	sig.Then = &run.Signal{Kind: run.Emission}
	s.want(s.send(sig), "invoke_model")
}

func TestResume(t *testing.T) {
	tests := map[string]struct {
		play func(*session)
		want []string
	}{
		"nothing under way": {func(s *session) { s.send(say("hi")) }, nil},
		"nothing written":   {func(*session) {}, nil},
		"unsafe tool": {
			func(s *session) { s.send(use("a")) },
			[]string{"commit [tool.finished]", "invoke_model"},
		},
		"safe tool":   {func(s *session) { s.send(use("safe")) }, []string{"run safe"}},
		"one of each": {func(s *session) { s.send(use("a", "safe")) }, []string{"commit [tool.finished]", "run safe"}},
		"result not written": {
			func(s *session) { s.send(use("safe", "a")); s.send(done("safe")) },
			[]string{"commit [tool.finished]", "run safe"},
		},
		"all results written": {func(s *session) { s.send(use("a")); s.send(done("a")) }, []string{"invoke_model"}},
		"waiting beside an unsafe one": {
			func(s *session) { s.send(use("a", "b")); s.send(waits("a", run.ForQuestion)) },
			[]string{"commit [tool.finished run.suspended]", "ask question a"},
		},
		"approved and begun": {
			func(s *session) {
				s.send(use("a"))
				s.send(waits("a", run.ForApproval))
				s.send(answered("a", run.Approve))
			},
			[]string{"commit [tool.finished]", "invoke_model"},
		},
		"approved, safe": {
			func(s *session) {
				s.send(use("safe"))
				s.send(waits("safe", run.ForApproval))
				s.send(answered("safe", run.Approve))
			},
			[]string{"run safe"},
		},
		"at the limit": {
			func(s *session) { s.lim.ModelCalls = 1; s.send(use("a")) },
			[]string{"commit [tool.finished]", "commit [reply run.finished]", "publish error final=true"},
		},
		"joined, not yet told": {
			func(s *session) { s.send(use("a")); s.send(steer("r2", "wait")); s.send(done("a")) },
			[]string{"invoke_model"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := open(t, run.Limits{Safe: safe})
			s.send(ask("r1", "hello"))
			tt.play(s)
			s.crash()
			s.want(s.resume(), tt.want...)
		})
	}
}

func TestInterruptedResult(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	s.send(use("a"))
	s.crash()
	s.resume()
	if e := s.log[len(s.log)-1]; e.OK || e.Source != run.FromRecovery || e.Result != "interrupted; its outcome is unknown" {
		t.Errorf("got %+v", e)
	}
}

func TestRestartAnywhere(t *testing.T) {
	for _, phase := range []run.Phase{run.Invoking, run.Streaming, run.Dispatching, run.Compacting, run.InSuspense} {
		t.Run(string(phase), func(t *testing.T) {
			s := in(t, phase)
			again := ask("r1", "hello")
			again.Attempt = 2
			s.send(again)
			if s.state.Pending() != 0 || s.state.Run.Attempt != 2 {
				t.Errorf("the attempt is not written: %d pending, attempt %d", s.state.Pending(), s.state.Run.Attempt)
			}
			s.send(run.Signal{Kind: run.Abort})
			s.wantEnd(run.OutcomeStopped, llm.CodeCancelled)
		})
	}
}

func steer(id, text string) run.Signal {
	sig := ask(id, text)
	sig.Join = true
	return sig
}

func TestSteerJoinsAtTheNextModelCall(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	s.send(use("a"))
	s.want(s.send(steer("r2", "in English")), "commit [input.added]")
	s.send(done("a"))
	roles := ""
	for _, m := range s.state.Messages {
		roles += string(m.Role) + " "
	}
	if want := "user assistant tool user "; roles != want {
		t.Errorf("got %s, want %s", roles, want)
	}
	if n := len(s.state.Run.Inputs); n != 2 {
		t.Errorf("got %d inputs in the run, want 2", n)
	}
}

func TestSteerDuringTheAnswerIsAnsweredNext(t *testing.T) {
	s := in(t, run.Streaming)
	s.send(steer("r2", "and tomorrow?"))
	s.want(s.send(say("rain")), "commit [message reply]", "publish reply final=false", "invoke_model")
	s.want(s.send(say("sun")), "commit [message message reply run.finished]", "publish reply final=true")
	if s.replies[1].N != 2 {
		t.Errorf("got reply %d, want 2", s.replies[1].N)
	}
}

func TestSteerIsNotLostWhenTheRunEnds(t *testing.T) {
	s := in(t, run.Streaming)
	s.send(steer("r2", "and tomorrow?"))
	s.send(run.Signal{Kind: run.Fault, Error: &run.Error{Code: llm.CodeRunTimeout}})
	s.wantEnd(run.OutcomeFailed, llm.CodeRunTimeout)
	if m := s.state.Messages[len(s.state.Messages)-1]; m.Text() != "and tomorrow?" {
		t.Errorf("last message: got %q", m.Text())
	}
}

func TestWaitingInputs(t *testing.T) {
	s := in(t, run.InSuspense)
	s.send(steer("r2", "two"))
	s.send(ask("r3", "three"))
	if n := len(s.state.Waiting); n != 2 {
		t.Fatalf("got %d waiting, want 2", n)
	}
	s.send(answered("now", run.Deny))
	s.send(say("fine"))
	s.send(ask("r2", "two"))
	if w := s.state.Waiting; len(w) != 1 || w[0].ID != "in-r3" {
		t.Errorf("waiting: got %+v, want in-r3", w)
	}
	s.send(say("second"))
	s.wantEnd(run.OutcomeSettled, "")
}

// What was said elsewhere comes before the run, in its first commit, and only into a
// session without a message. Its answers are no calls of the model of the run.
func TestHistory(t *testing.T) {
	s := open(t, run.Limits{})
	sig := ask("r1", "three")
	sig.History = []llm.Message{llm.UserText("one"), {Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: "two"}}}}
	s.want(s.send(sig), "invoke_model")
	s.want(s.send(say("four")), "commit [message message run.started message message reply run.finished]", "publish reply final=true")
	sig.Run = "r2"
	s.send(sig)
	if n := s.state.Run.ModelCalls; n != 0 {
		t.Errorf("%d calls of the model before the first", n)
	}
	s.want(s.send(say("five")), "commit [run.started message message reply run.finished]", "publish reply final=true")
	got := ""
	for _, m := range s.state.Messages {
		got += m.Text() + " "
	}
	if got != "one two three four three five " {
		t.Errorf("got %s", got)
	}
}
