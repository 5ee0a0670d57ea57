package run_test

import (
	"fmt"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/run"

	"github.com/google/go-cmp/cmp"
)

var long = strings.Repeat("many words ", 60)

func TestPlainAnswerIsOneCommit(t *testing.T) {
	s := open(t, run.Limits{})
	s.want(s.send(ask("r1", "hello")), "invoke_model")
	s.send(run.Signal{Kind: run.Emission, Delta: llm.Delta{Reasoning: "hm"}})
	s.send(run.Signal{Kind: run.Emission, Delta: llm.Delta{Text: "hi "}})
	s.send(run.Signal{Kind: run.Emission, Delta: llm.Delta{Text: "there", Finish: llm.FinishStop}})
	if got := s.state.Partial().Text(); got != "hi there" {
		t.Errorf("partial: got %q", got)
	}
	called := []run.Event{{Provider: "p", Model: "m", Attempt: 1, Error: &run.Error{Code: llm.CodeProviderRateLimit}}, {Provider: "q", Attempt: 2}}
	s.want(s.send(run.Signal{Kind: run.StreamEnd, Called: called}),
		"commit [run.started message model.called model.called message reply run.finished]", "publish reply final=true")
	s.wantEnd(run.OutcomeSettled, "")
	if got := s.replies[0]; got.Text != "hi there" || got.N != 1 || got.Kind != run.KindReply {
		t.Errorf("reply: got %+v", got)
	}
	if got := s.log[4].Message.Parts[0]; got.Provider != "q" {
		t.Errorf("reasoning of %q, want of q", got.Provider)
	}
	if s.state.Run != nil || s.state.Pending() != 0 || len(s.state.Partial().Parts) != 0 {
		t.Errorf("something is left over: %+v", s.state)
	}
}

// Nothing of the events of a commit is in those of the next.
func TestRecycle(t *testing.T) {
	s := open(t, run.Limits{})
	for i := range 4 {
		id := fmt.Sprintf("r%d", i)
		var commits []run.Effect
		for _, sig := range []run.Signal{ask(id, "look"), use("a"), waits("a", run.ForApproval), {Kind: run.Abort, By: "ana", Reason: "enough"}} {
			commits = append(commits, s.send(sig)...)
		}
		for _, e := range commits {
			run.Recycle(e.Events)
		}
		s.send(ask(id, "hello"))
		effects := s.send(say("hi"))
		for i, e := range effects[0].Events {
			want := run.Event{
				Type: e.Type, At: e.At, Run: e.Run, Trigger: e.Trigger, Inputs: e.Inputs, Message: e.Message, Reply: e.Reply, Outcome: e.Outcome,
			}
			if diff := cmp.Diff(want, e); diff != "" {
				t.Errorf("event %d: %s", i, diff)
			}
		}
	}
}

// An answer may be something the model made, without a word.
func TestAnswerWithoutWords(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "draw"))
	made := &llm.Media{Kind: "image", Object: "o", Data: []byte("content")}
	s.send(run.Signal{Kind: run.Emission, Delta: llm.Delta{Media: made}})
	s.send(run.Signal{Kind: run.Emission, Delta: llm.Delta{Finish: llm.FinishStop}})
	s.send(run.Signal{Kind: run.StreamEnd})
	if r := s.replies[0]; !r.Final || r.Error != nil || r.Text != "" || len(r.Media) != 1 || r.Media[0] != made {
		t.Errorf("reply: got %+v", r)
	}
	if log := encode(t, s.log); strings.Contains(log, "Data") || !strings.Contains(log, `"object":"o"`) {
		t.Errorf("log: %s", log)
	}
}

func TestReplyKindFollowsTrigger(t *testing.T) {
	tests := map[run.Trigger]string{
		"": run.KindReply, run.ByMessage: run.KindReply, run.ByDelegate: run.KindReply,
		run.BySchedule: run.KindNotice, run.ByEvent: run.KindNotice, run.ByHeartbeat: run.KindNotice,
	}
	for trigger, want := range tests {
		s := open(t, run.Limits{})
		sig := ask("r1", "hello")
		sig.Trigger = trigger
		s.send(sig)
		s.send(say("hi"))
		if got := s.replies[0].Kind; got != want {
			t.Errorf("trigger %q: got %s, want %s", trigger, got, want)
		}
	}
}

func TestStreamEnds(t *testing.T) {
	text := []llm.Delta{{Text: "so far"}}
	calling := []llm.Delta{{Text: "so far"}, {Call: &llm.CallDelta{ID: "c", Name: "now"}}}
	tests := map[string]struct {
		deltas   []llm.Delta
		end      run.Signal
		outcome  run.Outcome
		code     llm.Code
		kept     string
		partial  bool
		toPerson string
	}{
		"nothing at all":   {nil, run.Signal{}, run.OutcomeFailed, llm.CodeProviderUnavailable, "", false, "My model did not answer. Please try again later."},
		"only blanks":      {[]llm.Delta{{Text: " \n"}}, run.Signal{}, run.OutcomeFailed, llm.CodeProviderUnavailable, "", false, ""},
		"only reasoning":   {[]llm.Delta{{Reasoning: "hm"}}, run.Signal{Finish: llm.FinishStop}, run.OutcomeFailed, llm.CodeProviderUnavailable, "", false, ""},
		"no finish":        {text, run.Signal{}, run.OutcomeSettled, "", "so far", false, "so far"},
		"out of tokens":    {text, run.Signal{Finish: llm.FinishLength}, run.OutcomeSettled, "", "so far", false, "so far"},
		"filtered":         {text, run.Signal{Finish: llm.FinishContentFilter}, run.OutcomeFailed, llm.CodeContentFilter, "so far", true, ""},
		"filtered at once": {nil, run.Signal{Finish: llm.FinishContentFilter}, run.OutcomeFailed, llm.CodeContentFilter, "", false, ""},
		"broken":           {text, run.Signal{Error: &run.Error{Code: llm.CodeProviderUnavailable}}, run.OutcomeFailed, llm.CodeProviderUnavailable, "so far", true, ""},
		"broken in a call": {calling, run.Signal{Finish: llm.FinishToolCalls, Error: &run.Error{Code: llm.CodeProviderAuth}}, run.OutcomeFailed, llm.CodeProviderAuth, "so far", true, ""},
		"with its own words": {
			nil,
			run.Signal{Error: &run.Error{Code: llm.CodeBudgetExceeded, Message: "today's 5.00 are spent"}},
			run.OutcomeFailed, llm.CodeBudgetExceeded, "", false, "today's 5.00 are spent",
		},
		"unknown code": {nil, run.Signal{Error: &run.Error{Code: "flat_tyre"}}, run.OutcomeFailed, llm.CodeInternal, "", false, ""},
		"cancelled":    {text, run.Signal{Error: &run.Error{Code: llm.CodeCancelled}}, run.OutcomeStopped, llm.CodeCancelled, "so far", true, "Stopped."},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := open(t, run.Limits{})
			s.send(ask("r1", "hello"))
			for _, d := range tt.deltas {
				s.send(run.Signal{Kind: run.Emission, Delta: d})
			}
			tt.end.Kind = run.StreamEnd
			s.send(tt.end)
			s.wantEnd(tt.outcome, tt.code)
			if got := s.replies[0].Text; tt.toPerson != "" && got != tt.toPerson {
				t.Errorf("reply: got %q, want %q", got, tt.toPerson)
			}
			last := s.state.Messages[len(s.state.Messages)-1]
			if last.Role != llm.Assistant {
				last = llm.Message{}
			}
			if last.Text() != tt.kept || last.Partial != tt.partial || len(last.Calls()) > 0 {
				t.Errorf("kept: got %q partial=%v calls=%d, want %q %v 0", last.Text(), last.Partial, len(last.Calls()), tt.kept, tt.partial)
			}
		})
	}
}

func TestEveryCodeHasASentence(t *testing.T) {
	seen := map[string]llm.Code{}
	for _, code := range []llm.Code{
		llm.CodeValidation, llm.CodeContentFilter, llm.CodeProviderAuth, llm.CodeProviderRateLimit, llm.CodeProviderUnavailable,
		llm.CodeToolDenied, llm.CodeToolFailed, llm.CodeToolUnavailable, llm.CodeBudgetExceeded, llm.CodeRunTimeout,
		llm.CodeTurnLimit, llm.CodeCompactionFailed, llm.CodeCancelled, llm.CodeSandboxError, llm.CodeInternal,
	} {
		sentence := run.Sentence(code)
		if other, ok := seen[sentence]; ok {
			t.Errorf("%s and %s are told alike: %q", code, other, sentence)
		}
		seen[sentence] = code
	}
	if run.Sentence("flat_tyre") != run.Sentence(llm.CodeInternal) {
		t.Error("an unknown code is not told as an internal one")
	}
}

func TestTurnLimit(t *testing.T) {
	s := open(t, run.Limits{ModelCalls: 2})
	s.send(ask("r1", "hello"))
	for range 2 {
		s.wantPhase(run.Invoking)
		s.send(use("now"))
		s.send(done(s.state.Run.Calls[0].ID))
	}
	s.wantEnd(run.OutcomeFailed, llm.CodeTurnLimit)
	s.wantPhase(run.Faulted)
}

func TestAbort(t *testing.T) {
	s := open(t, run.Limits{Tools: 1})
	s.send(ask("r1", "hello"))
	s.send(use("a", "b", "c"))
	s.send(done("a"))
	s.send(waits("b", run.ForApproval))
	s.send(run.Signal{Kind: run.Abort, Reason: "stopped by Ana", By: "ana"})
	s.wantEnd(run.OutcomeStopped, llm.CodeCancelled)
	reply, end := s.last()
	if reply.Text != "stopped by Ana" || end.By != "ana" {
		t.Errorf("end: got %q by %q", reply.Text, end.By)
	}
	if n := len(s.state.Messages); n != 3 {
		t.Fatalf("got %d messages, want 3: the last has the results of all calls", n)
	}
	var got []string
	for _, p := range s.state.Messages[2].Parts {
		got = append(got, p.Call+": "+p.Text)
	}
	want := "a: did a|b: cancelled before it was answered|c: cancelled; its outcome is unknown"
	if strings.Join(got, "|") != want {
		t.Errorf("results: got %q, want %q", got, want)
	}
	var finished []string
	for _, e := range s.log {
		if e.Type == run.ToolFinished {
			finished = append(finished, e.Call)
		}
	}
	if got := strings.Join(finished, " "); got != "a b c" {
		t.Errorf("the log settles the calls %q, want each once", got)
	}
	s.want(s.send(run.Signal{Kind: run.Fault}), "ignored: not expected in this phase")
	s.want(s.send(done("c")), "ignored: not expected in this phase")
}

func TestAbortKeepsWhatWasSaid(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "hello"))
	s.send(run.Signal{Kind: run.Emission, Delta: llm.Delta{Text: "so far", Finish: llm.FinishStop}})
	s.send(run.Signal{Kind: run.Abort, Called: []run.Event{{Provider: "p"}}})
	s.wantEnd(run.OutcomeStopped, llm.CodeCancelled)
	if m := s.state.Messages[1]; m.Text() != "so far" || !m.Partial {
		t.Errorf("got %+v", m)
	}
	if s.log[2].Type != run.ModelCalled {
		t.Errorf("got %v, want the cost of the aborted call", types(s.log))
	}
}

func TestTextThatIsNotText(t *testing.T) {
	s := open(t, run.Limits{})
	s.send(ask("r1", "caf\xe9"))
	s.send(use("now"))
	bad := done("now")
	bad.Result = "\xff\xfe"
	s.send(bad)
	s.send(say("\xc3("))
	s.wantEnd(run.OutcomeSettled, "")
}

// What a broken stream has said is kept, marked, and belongs to who said it:
// only that provider is sent its reasoning again.
func TestPartialAnswerHasItsProvider(t *testing.T) {
	ends := map[string]run.Signal{
		"stream end": {Kind: run.StreamEnd, Error: &run.Error{Code: llm.CodeProviderUnavailable}},
		"fault":      {Kind: run.Fault, Error: &run.Error{Code: llm.CodeProviderUnavailable}},
		"abort":      {Kind: run.Abort, By: "ana"},
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			s := open(t, run.Limits{})
			s.send(ask("r1", "hello"))
			s.send(run.Signal{Kind: run.Emission, Delta: llm.Delta{Reasoning: "let me see"}})
			s.send(run.Signal{Kind: run.Emission, Delta: llm.Delta{Meta: []byte(`"signed"`)}})
			s.send(run.Signal{Kind: run.Emission, Delta: llm.Delta{Text: "It is"}})
			end.Called = []run.Event{{Provider: "first", Model: "m"}, {Provider: "p", Model: "m"}}
			s.send(end)
			m := s.state.Messages[len(s.state.Messages)-1]
			if !m.Partial || m.Text() != "It is" || m.Parts[0].Provider != "p" || string(m.Parts[0].Meta) != `"signed"` {
				t.Errorf("got %+v", m)
			}
		})
	}
}
