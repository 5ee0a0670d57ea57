package run_test

import (
	"testing"

	"agenthost/llm"
	"agenthost/run"

	"github.com/google/go-cmp/cmp"
)

// held is a session whose run waits for leave to spend more.
func held(t *testing.T) *session {
	t.Helper()
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	s.send(hold())
	s.wantPhase(run.InSuspense)
	if r := s.state.Run; r.Hold == nil || r.Overdraft || len(r.Open()) != 1 || r.Open()[0].Prompt != "may it cost more?" {
		t.Fatalf("got %+v", r)
	}
	return s
}

func TestHoldIsReleased(t *testing.T) {
	s := held(t)
	s.want(s.send(answered("budget:1", run.Approve)), "commit [approval.answered]", "invoke_model")
	s.wantPhase(run.Invoking)
	if r := s.state.Run; r.Hold != nil || !r.Overdraft {
		t.Errorf("got %+v", r)
	}
	s.send(say("hi"))
	s.wantEnd(run.OutcomeSettled, "")
	s.send(ask("r2", "more"))
	if s.state.Run.Overdraft {
		t.Error("the next run goes beyond its budget, too")
	}
}

func TestHoldIsDenied(t *testing.T) {
	s := held(t)
	s.want(s.send(answered("budget:1", run.Deny)), "commit [approval.answered reply run.finished]", "publish error final=true")
	s.wantEnd(run.OutcomeFailed, llm.CodeBudgetExceeded)
}

func TestHoldCannotBe(t *testing.T) {
	s := held(t)
	s.want(s.send(answered("budget:1", "perhaps")), "ignored: an approval is answered with approve or deny")
	s.want(s.send(answered("budget:2", run.Approve)), "ignored: nothing waits for this answer")
	s.want(s.send(done("budget:1")), "ignored: no such call is open")
	s.want(s.send(answered("budget:1", run.Approve)), "commit [approval.answered]", "invoke_model")
	s.want(s.send(answered("budget:1", run.Deny)), "ignored: not expected in this phase")
}

func TestHoldOutlivesACrash(t *testing.T) {
	s := held(t)
	s.crash()
	s.want(s.resume(), "ask approval budget:1")
	again := ask("r1", "hello")
	again.Attempt = 2
	s.want(s.send(again), "commit [run.started]", "ask approval budget:1")
	s.want(s.send(answered("budget:1", run.Approve)), "commit [approval.answered]", "invoke_model")
	s.crash()
	s.want(s.resume(), "invoke_model")
	if !s.state.Run.Overdraft {
		t.Error("the leave is forgotten")
	}
}

// TestHoldIsStopped stops a run that waits; nobody has an unanswered call.
func TestHoldIsStopped(t *testing.T) {
	s := held(t)
	s.want(s.send(run.Signal{Kind: run.Abort, By: "ana"}), "commit [reply run.finished]", "publish error final=true")
	s.wantEnd(run.OutcomeStopped, llm.CodeCancelled)
}

// TestHoldOfACompaction decides again what to do when it may go on.
func TestHoldOfACompaction(t *testing.T) {
	s := in(t, run.Compacting)
	s.send(hold())
	s.want(s.send(answered("budget:1", run.Approve)), "commit [approval.answered]", "compact 2")
}

// TestHoldLetsNobodyJoin keeps what comes meanwhile for later.
func TestHoldLetsNobodyJoin(t *testing.T) {
	s := held(t)
	s.send(steer("r2", "quick"))
	if len(s.state.Waiting) != 1 || len(s.state.Run.Joining) != 0 {
		t.Errorf("got %+v", s.state)
	}
}

func TestSpent(t *testing.T) {
	costs := func(sig run.Signal, amounts ...int64) run.Signal {
		for _, a := range amounts {
			sig.Called = append(sig.Called, run.Event{Provider: "p", Cost: a, Priced: true})
		}
		return sig
	}
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	s.send(costs(use("a"), 1, 10))
	if got := s.state.Run.Spent; got != 11 {
		t.Errorf("run: got %d", got)
	}
	s.send(done("a"))
	s.send(costs(say("hi"), 100))
	s.send(ask("r2", "hello"))
	if s.state.Run.Spent != 0 {
		t.Errorf("next run: got %d", s.state.Run.Spent)
	}
	s.send(costs(run.Signal{Kind: run.Fault}, 1000))
	if s.state.Spent != 1111 {
		t.Errorf("session: got %d", s.state.Spent)
	}
	live := s.state.Spent
	s.crash()
	if diff := cmp.Diff(live, s.state.Spent); diff != "" {
		t.Error(diff)
	}
}
