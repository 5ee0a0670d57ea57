package run_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agenthost/fastjson"
	"agenthost/llm"
	"agenthost/run"
)

func TestToolsAreWrittenBeforeTheyRun(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	s.want(s.send(use("a", "b")), "commit [run.started message message tool.requested tool.requested]", "run a", "run b")
	s.want(s.send(done("b")))
	s.want(s.send(done("a")), "commit [tool.finished tool.finished]", "invoke_model")
	s.want(s.send(say("hi")), "commit [message reply run.finished]", "publish reply final=true")

	results := s.state.Messages[2]
	if results.Role != llm.Tool || len(results.Parts) != 2 || results.Parts[0].Call != "a" || results.Parts[1].Call != "b" {
		t.Errorf("results: got %+v, want those of a, then b", results)
	}
}

func TestToolsAtOnce(t *testing.T) {
	s := open(t, run.Limits{})
	var names []string
	for i := range 11 {
		names = append(names, fmt.Sprintf("t%d", i))
	}
	s.send(ask("r1", "hello"))
	if got := brief(s.send(use(names...)))[1:]; len(got) != 8 || got[7] != "run t7" {
		t.Errorf("first: got %q, want 8", got)
	}
	s.want(s.send(done("t5")), "run t8")
	s.want(s.send(waits("t0", run.ForDelegate)), "commit [tool.finished delegated]", "ask delegate t0", "run t9")
	s.want(s.send(done("t1")), "run t10")
	s.want(s.send(done("t2")))
}

func TestCallIDsAreUnique(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	sig := use("now", "now", "now")
	sig.Message.Parts = append(sig.Message.Parts, llm.Part{Type: llm.Text, Text: "let me see"})
	sig.Message.Parts[2].Call = ""
	sig.Message.Parts[2].Args = nil
	s.want(s.send(sig)[1:], "run now", "run now_1", "run call_1")
	if got := string(s.state.Run.Calls[2].Args); got != "{}" {
		t.Errorf("no arguments: got %s, want {}", got)
	}
	for _, id := range []string{"now", "now_1", "call_1"} {
		s.send(done(id))
	}
	s.want(s.send(use("now"))[1:], "run now_2")
}

func broken(tools ...string) run.Signal {
	sig := use(tools...)
	for i := range sig.Message.Parts {
		sig.Message.Parts[i].Args = json.RawMessage(`{"a":`)
	}
	return sig
}

func TestBrokenArguments(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	sig := use("a", "b", "c")
	sig.Message.Parts[0].Args = json.RawMessage(`{"a":`)
	sig.Message.Parts[2].Args, sig.Message.Parts[2].Error = nil, true
	s.want(s.send(sig),
		"commit [run.started message message tool.requested tool.requested tool.requested tool.finished tool.finished]", "run b")
	s.want(s.send(done("b")), "commit [tool.finished]", "invoke_model")
	if r := s.state.Messages[2].Parts; !r[0].Error || r[1].Error || !r[2].Error {
		t.Errorf("results: got %+v", r)
	}
}

// What is nested too deep to be read again in a log does not get into it.
func TestDeepArguments(t *testing.T) {
	deep := func(levels int) json.RawMessage {
		return json.RawMessage(`{"a":` + strings.Repeat("[", levels-1) + strings.Repeat("]", levels-1) + "}")
	}
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	sig := use("a", "b", "c")
	sig.Message.Parts[0].Args, sig.Message.Parts[1].Args = deep(fastjson.Deepest+1), deep(fastjson.Deepest)
	sig.Message.Parts[2].Meta = deep(9998)
	s.want(s.send(sig), "commit [run.started message message tool.requested tool.requested tool.requested tool.finished]", "run b", "run c")
	if e := s.log[len(s.log)-1]; e.Call != "a" || !strings.Contains(e.Result, "500") || e.Source != run.FromCorrection {
		t.Errorf("the model is told %+v", e)
	}
	task := waits("b", run.ForDelegate)
	task.Wait.Context = deep(9998)
	s.send(task)
	shown := waits("c", run.ForApproval)
	shown.Wait.Args = deep(9998)
	s.send(shown)
	for _, e := range s.log {
		parts := []llm.Part{{Args: e.Args}, {Args: e.Context}}
		if e.Message != nil {
			parts = append(parts, e.Message.Parts...)
		}
		for _, p := range parts {
			if fastjson.TooDeep(p.Args) || fastjson.TooDeep(p.Meta) {
				t.Errorf("%s has what is nested too deep", e.Type)
			}
		}
	}
}

func TestCorrections(t *testing.T) {
	correct := func(s *session, call string) {
		s.send(use(call))
		s.send(run.Signal{Kind: run.ToolSettled, Call: call, Result: "no such tool", Source: run.FromCorrection})
	}
	tests := map[string]struct {
		play func(*session)
		ends bool
	}{
		"four in a row": {func(s *session) { s.send(broken("a")); correct(s, "b"); s.send(broken("c")); correct(s, "d") }, true},
		"three":         {func(s *session) { s.send(broken("a")); correct(s, "b"); s.send(broken("c")) }, false},
		"a good call in between": {func(s *session) {
			for _, c := range []string{"a", "b", "c"} {
				s.send(broken(c))
			}
			s.send(use("d"))
			s.send(done("d"))
			s.send(broken("e"))
		}, false},
		"a good call among them": {func(s *session) {
			for _, c := range []string{"a", "b", "c"} {
				s.send(broken(c))
			}
			s.send(use("d", "e"))
			s.send(done("d"))
			s.send(run.Signal{Kind: run.ToolSettled, Call: "e", Source: run.FromCorrection})
		}, false},
		"a tool that fails is no correction": {func(s *session) {
			for _, c := range []string{"a", "b", "c", "d", "e"} {
				s.send(use(c))
				s.send(run.Signal{Kind: run.ToolSettled, Call: c, Result: "disk full"})
			}
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := open(t, run.Limits{})
			s.send(ask("r1", "hello"))
			tt.play(s)
			if !tt.ends {
				s.wantPhase(run.Invoking)
				return
			}
			s.wantEnd(run.OutcomeFailed, llm.CodeToolFailed)
		})
	}
}

func TestSuspension(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	s.send(use("a", "b", "c", "d"))
	s.want(s.send(waits("a", run.ForApproval)), "commit [approval.asked reply]", "ask approval a", "publish approval final=false")
	s.want(s.send(waits("b", run.ForQuestion)), "commit [question.asked reply]", "ask question b", "publish question final=false")
	task := waits("c", run.ForDelegate)
	task.Wait.Context = json.RawMessage(`{"host": "a"}`)
	s.want(s.send(task), "commit [delegated]", "ask delegate c")
	s.want(s.send(done("d")), "commit [tool.finished run.suspended]")
	s.wantPhase(run.InSuspense)
	if got := s.log[len(s.log)-1].Waiting; !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("waiting: got %q", got)
	}

	s.crash()
	s.wantPhase(run.InSuspense)
	effects := s.resume()
	s.want(effects, "ask approval a", "ask question b", "ask delegate c")
	if got := string(effects[2].Call.Context); got != `{"host":"a"}` {
		t.Errorf("the context of the task is %s", got)
	}

	s.want(s.send(answered("b", "blue")), "commit [question.answered tool.finished run.suspended]")
	s.want(s.send(answered("b", "red")), "ignored: nothing waits for this answer")
	effects = s.send(answered("a", run.Approve))
	s.want(effects, "commit [approval.answered]", "run a")
	if !effects[1].Call.Approved {
		t.Error("the approved call does not say so")
	}
	s.want(s.send(done("a")), "commit [tool.finished run.suspended]")
	s.want(s.send(run.Signal{Kind: run.ToolSettled, Call: "c", OK: true, Result: "done", Source: run.FromDelegate}),
		"commit [tool.finished]", "invoke_model")

	var got []string
	for _, p := range s.state.Messages[2].Parts {
		got = append(got, p.Text)
	}
	if want := []string{"did a", "blue", "done", "did d"}; !slices.Equal(got, want) {
		t.Errorf("results: got %q, want %q", got, want)
	}
}

func TestDelegateAnsweredWhileOthersRun(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	s.send(use("a", "b"))
	s.send(waits("a", run.ForDelegate))
	s.want(s.send(answered("a", "done")), "commit [tool.finished]")
	if e := s.log[len(s.log)-1]; e.Source != run.FromDelegate || e.Result != "done" || e.By != "ana" {
		t.Errorf("got %+v", e)
	}
	s.want(s.send(done("b")), "commit [tool.finished]", "invoke_model")
}

func TestDenial(t *testing.T) {
	s := in(t, run.InSuspense)
	s.send(answered("now", run.Deny))
	if got := s.state.Messages[2].Parts[0]; got.Text != "denied" || !got.Error {
		t.Errorf("got %+v", got)
	}
}

// What an approval shows instead of what the model asked for is in the log, and
// is what runs.
func TestApprovalOfOtherArguments(t *testing.T) {
	for name, tt := range map[string]struct{ shown, logged, runs string }{
		"as asked":       {`{ "a": 1 }`, "", `{"a":1}`},
		"not told":       {"", "", `{"a":1}`},
		"something else": {`{"a": 2}`, `{"a":2}`, `{"a":2}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, run.Limits{})
			s.send(ask("r1", "hello"))
			s.send(use("pay"))
			asked := waits("pay", run.ForApproval)
			asked.Wait.Args = json.RawMessage(tt.shown)
			effects := s.send(asked)
			if got := string(effects[0].Events[0].Args); got != tt.logged {
				t.Errorf("logged %s, want %s", got, tt.logged)
			}
			s.crash()
			effects = s.send(answered("pay", run.Approve))
			call := effects[len(effects)-1].Call
			if call == nil || !call.Approved || string(call.Args) != tt.runs {
				t.Errorf("run: got %+v, want the arguments %s", call, tt.runs)
			}
			if _, err := run.Replay(s.log); err != nil {
				t.Error(err)
			}
		})
	}
}

// Of two answers to an approval the first counts, also while what it has let run is at
// work and another call waits.
func TestSecondAnswerToAnApprovalIsIgnored(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	s.send(use("a", "b"))
	s.send(waits("a", run.ForApproval))
	s.send(waits("b", run.ForApproval))
	s.send(answered("a", run.Approve))
	for _, answer := range []string{run.Deny, run.Approve} {
		s.want(s.send(answered("a", answer)), "ignored: nothing waits for this answer")
	}
	s.send(done("a"))
	s.send(answered("b", run.Deny))
	if results := s.state.Messages[len(s.state.Messages)-1]; results.Parts[0].Text != "did a" || results.Parts[1].Text != "denied" {
		t.Errorf("results: got %+v, want that of a, and a denial of b", results.Parts)
	}
}

// A tool that the model was not offered does not run, on whichever host: its result is in
// the log with the request.
func TestCallsOfToolsThatWereNotOffered(t *testing.T) {
	tests := map[string]struct {
		calls []string
		want  []string
	}{
		"all":  {[]string{"hidden"}, []string{"commit [run.started message message tool.requested tool.finished]", "invoke_model"}},
		"some": {[]string{"now", "hidden", "safe"}, []string{"commit [run.started message message tool.requested tool.requested tool.requested tool.finished]", "run now", "run safe"}},
		"none": {[]string{"now"}, []string{"commit [run.started message message tool.requested]", "run now"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := open(t, run.Limits{Safe: safe})
			s.send(ask("r1", "hello"))
			sig := use(tt.calls...)
			sig.Offers = func(tool string) bool { return tool != "hidden" }
			s.want(s.send(sig), tt.want...)
			s.crash()
			for _, e := range s.resume() {
				if e.Kind == run.RunTool && e.Call.Name == "hidden" {
					t.Error("it runs after a restart")
				} else if e.Kind == run.RunTool {
					s.send(done(e.Call.ID))
				}
			}
			s.send(say("done"))
			s.wantEnd(run.OutcomeSettled, "")
			if _, err := run.Replay(s.log); err != nil {
				t.Error(err)
			}
		})
	}
}
