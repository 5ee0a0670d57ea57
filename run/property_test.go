package run_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"agenthost/llm"
	"agenthost/run"
)

// TestAnyOrder throws signals at the machine in no sensible order, with crashes
// in between, and checks after each what must always be true.
func TestAnyOrder(t *testing.T) {
	sessions := 60
	if testing.Short() {
		sessions = 20
	}
	for seed := range uint64(sessions) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			s := open(t, run.Limits{ModelCalls: 5, Tools: 2, Keep: 2, Safe: safe})
			if r.IntN(2) == 0 {
				s.lim.Window = 300
			}
			for n := range 80 {
				old, was := s.state, encode(t, s.state)
				var effects []run.Effect
				switch r.IntN(40) {
				case 0:
					s.crash()
					effects = s.resume()
				case 1: // as from a snapshot, which has nothing that was counted
					if len(s.log) > 0 {
						wantSameState(t, s.folded)
					}
					read := run.State{}
					if err := json.Unmarshal([]byte(encode(t, s.folded)), &read); err != nil {
						t.Fatal(err)
					}
					s.state = read
					effects = s.resume()
				default:
					effects = s.send(random(r, s.state, n))
				}
				wantContents(t, s.state, effects)
				if is := encode(t, old); is != was {
					t.Fatalf("an old state changed\n got %s\nwant %s", is, was)
				}
			}
			if s.state.Run != nil {
				s.send(run.Signal{Kind: run.Abort})
			}
			wantOneEnd(t, s.log)
			wantOneResult(t, s.log)
			wantPairs(t, s.state.Messages)
		})
	}
}

// wantContents checks that what a state has counted is what a look at its
// messages says, and that a call of the model finds them counted.
func wantContents(t *testing.T, s run.State, effects []run.Effect) {
	t.Helper()
	got := s.Contents()
	invokes := func(e run.Effect) bool { return e.Kind == run.InvokeModel }
	if got.Messages > len(s.Messages) || got.Messages < len(s.Messages) && slices.ContainsFunc(effects, invokes) {
		t.Fatalf("got %d messages counted, want %d", got.Messages, len(s.Messages))
	}
	req := llm.Request{Messages: s.Messages[:got.Messages]}
	if want := req.Look(); got.Messages > 0 && got != want {
		t.Fatalf("got %+v of %d messages, want %+v", got, len(s.Messages), want)
	}
}

// random is a signal that may or may not fit the state.
func random(r *rand.Rand, s run.State, n int) run.Signal {
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	call := "a"
	if s.Run != nil && len(s.Run.Calls) > 0 {
		call = s.Run.Calls[r.IntN(len(s.Run.Calls))].ID
	}
	switch r.IntN(16) {
	case 0, 1:
		sig := ask(fmt.Sprintf("r%d", n), pick("hello", long))
		if r.IntN(8) == 0 {
			sig.Message.Parts = append(sig.Message.Parts, llm.Part{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", Object: "o"}})
		}
		sig.Join, sig.Attempt = r.IntN(2) == 0, r.IntN(2)
		return sig
	case 2:
		if s.Run == nil {
			return run.Signal{Kind: run.CompactEnd}
		}
		sig := ask(s.Run.ID, "again")
		sig.Attempt, sig.Handed = s.Run.Attempt+r.IntN(2), s.Run.Handed+r.IntN(2)
		return sig
	case 3, 4:
		return run.Signal{Kind: run.Emission, Delta: llm.Delta{Text: pick("so ", "it ", "\xff")}}
	case 5:
		return run.Signal{Kind: run.StreamEnd, Called: []run.Event{{Provider: "p"}}}
	case 6:
		sig := use([]string{"a", "safe", "b", "c"}[:1+r.IntN(4)]...)
		if r.IntN(4) == 0 {
			sig.Message.Parts = append(sig.Message.Parts, llm.Part{Type: llm.Reasoning, Text: "hm", Provider: pick("", "p", "q")})
		}
		return sig
	case 7:
		return broken("a", "b")
	case 8, 9:
		return run.Signal{Kind: run.ToolSettled, Call: call, OK: true, Result: pick("ok", long), Source: pick("", run.FromCorrection)}
	case 10:
		sig := waits(call, pick(run.ForApproval, run.ForQuestion, run.ForDelegate))
		if sig.Wait.For == run.ForDelegate {
			sig.Wait.Context = json.RawMessage(`{"a": "<b>"}`)
		}
		return sig
	case 11:
		return answered(call, pick(run.Approve, run.Deny, "blue"))
	case 13, 14:
		if s.Run != nil && s.Run.Hold != nil {
			return answered(s.Run.Hold.ID, pick(run.Approve, run.Deny, "blue"))
		}
		sig := hold()
		sig.Called = []run.Event{{Provider: "p", Cost: int64(r.IntN(9)), Priced: true}}
		return sig
	case 12:
		return run.Signal{Kind: run.CompactEnd, Summary: pick("short", "", long+long)}
	default:
		if r.IntN(4) > 0 {
			return use("a", "b")
		}
		return run.Signal{Kind: run.SignalKind(pick("abort", "fault")), Error: &run.Error{Code: llm.CodeRunTimeout}, TooLong: r.IntN(2) == 0}
	}
}

// wantOneEnd checks that each run that began has one final reply, and right
// after it one run.finished.
func wantOneEnd(t *testing.T, log []run.Event) {
	t.Helper()
	id, finals, begun := "", 0, map[string]int{}
	for i, e := range log {
		switch {
		case e.Type == run.Started && e.Run != id:
			if id != "" {
				t.Fatalf("run %s began before run %s ended", e.Run, id)
			}
			id, finals = e.Run, 0
			begun[id]++
		case e.Type == run.Replied && e.Reply.Final:
			finals++
		case e.Type == run.Finished:
			if before := log[i-1]; e.Run != id || finals != 1 || before.Reply == nil || !before.Reply.Final {
				t.Fatalf("run %s ended after %d final replies", e.Run, finals)
			}
			id = ""
		}
	}
	if id != "" {
		t.Fatalf("run %s did not end", id)
	}
	for id, n := range begun {
		if n != 1 {
			t.Fatalf("run %s began %d times", id, n)
		}
	}
}

func wantOneResult(t *testing.T, log []run.Event) {
	t.Helper()
	results := map[string]int{}
	for _, e := range log {
		switch e.Type {
		case run.ToolRequested:
			results[e.Call] = 0
		case run.ToolFinished:
			if n, ok := results[e.Call]; !ok || n != 0 {
				t.Fatalf("call %s: result %d, requested %v", e.Call, n+1, ok)
			}
			results[e.Call]++
		}
	}
	for call, n := range results {
		if n != 1 {
			t.Fatalf("call %s: got %d results, want 1", call, n)
		}
	}
}
