package run_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"agenthost/llm"
	"agenthost/run"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// A session drives the machine by hand and keeps what it wrote.
type session struct {
	testing.TB
	state   run.State
	folded  run.State // of the log, as it comes back from the wire
	lim     run.Limits
	at      time.Time
	log     []run.Event
	commits []int // where in log each ends
	replies []run.Reply
}

func open(t testing.TB, lim run.Limits) *session {
	return &session{TB: t, lim: lim, at: epoch}
}

// send steps the machine, a second after the last time.
func (s *session) send(sig run.Signal) []run.Effect {
	s.Helper()
	s.at = s.at.Add(time.Second)
	sig.At = s.at
	var effects []run.Effect
	s.state, effects = run.Step(s.state, sig, s.lim)
	s.perform(effects)
	return effects
}

func (s *session) perform(effects []run.Effect) {
	s.Helper()
	for _, e := range effects {
		switch e.Kind {
		case run.Commit:
			address(s, e.Events)
			s.log = append(s.log, e.Events...)
			s.commits = append(s.commits, len(s.log))
			s.folded = fold(s, s.folded, e.Events)
		case run.Publish:
			s.replies = append(s.replies, *e.Reply)
		}
	}
	if s.state.Pending() == 0 {
		s.same()
	}
}

// address writes replies as a conductor does.
func address(t testing.TB, events []run.Event) {
	for _, e := range events {
		if r := e.Reply; r != nil {
			r.Subject = "plugin.outbound.demo"
			r.Envelope = json.RawMessage(encode(t, map[string]any{"kind": r.Kind, "text": r.Text, "final": r.Final}))
		}
	}
}

// same checks the promise of the log: folded, it is the live state.
func (s *session) same() {
	s.Helper()
	live, replayed := encode(s, s.state), encode(s, s.folded)
	if live != replayed {
		s.Fatalf("live state and replayed log differ\nlive     %s\nreplayed %s", live, replayed)
	}
}

// crash forgets all but the log.
func (s *session) crash() { s.state = replay(s, s.log) }

func (s *session) resume() []run.Effect {
	s.Helper()
	s.at = s.at.Add(time.Second)
	var effects []run.Effect
	s.state, effects = run.Resume(s.state, s.at, s.lim)
	s.perform(effects)
	return effects
}

func replay(t testing.TB, log []run.Event) run.State {
	t.Helper()
	return fold(t, run.State{}, log)
}

// fold adds events as they come back from the wire.
func fold(t testing.TB, s run.State, log []run.Event) run.State {
	t.Helper()
	for _, e := range log {
		var back run.Event
		if err := json.Unmarshal([]byte(encode(t, e)), &back); err != nil {
			t.Fatal(err)
		}
		s = run.Fold(s, back)
	}
	return s
}

func encode(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func ask(id, text string) run.Signal {
	m := llm.UserText(text)
	in := run.Input{ID: "in-" + id, Subject: "plugin.inbound.demo", Envelope: json.RawMessage(`{"text": "x"}`)}
	return run.Signal{Kind: run.Submit, Run: id, Message: &m, Inputs: []run.Input{in}}
}

func say(text string) run.Signal {
	m := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: text}}}
	return run.Signal{Kind: run.StreamEnd, Message: &m, Finish: llm.FinishStop}
}

// use is an answer that calls the tools of these names, under their names as ids.
func use(tools ...string) run.Signal {
	m := llm.Message{Role: llm.Assistant}
	for _, name := range tools {
		m.Parts = append(m.Parts, llm.Part{Type: llm.ToolCall, Call: name, Name: name, Args: json.RawMessage(`{"a": 1}`)})
	}
	return run.Signal{Kind: run.StreamEnd, Message: &m, Finish: llm.FinishToolCalls}
}

func done(call string) run.Signal {
	return run.Signal{Kind: run.ToolSettled, Call: call, OK: true, Result: "did " + call}
}

func waits(call, what string) run.Signal {
	return run.Signal{Kind: run.ToolSettled, Call: call, Wait: &run.Wait{For: what, Prompt: "may I?", To: "ops", CorrelationID: "c1"}}
}

func hold() run.Signal {
	return run.Signal{Kind: run.Held, Wait: &run.Wait{For: run.ForApproval, Prompt: "may it cost more?"}}
}

func answered(call, with string) run.Signal {
	return run.Signal{Kind: run.Answered, Call: call, Answer: with, By: "ana", Scope: "once"}
}

// brief writes effects as a line: what a reader of a test wants to compare.
func brief(effects []run.Effect) []string {
	var lines []string
	for _, e := range effects {
		switch e.Kind {
		case run.Commit:
			lines = append(lines, fmt.Sprintf("commit %v", types(e.Events)))
		case run.Publish:
			lines = append(lines, fmt.Sprintf("publish %s final=%v", e.Reply.Kind, e.Reply.Final))
		case run.RunTool:
			lines = append(lines, "run "+e.Call.ID)
		case run.Ask:
			lines = append(lines, "ask "+e.Call.Asked+" "+e.Call.ID)
		case run.Compact:
			lines = append(lines, fmt.Sprintf("compact %d", e.Through))
		case run.Ignored:
			lines = append(lines, "ignored: "+e.Why)
		default:
			lines = append(lines, string(e.Kind))
		}
	}
	return lines
}

func types(events []run.Event) []run.EventType {
	var ts []run.EventType
	for _, e := range events {
		ts = append(ts, e.Type)
	}
	return ts
}

func (s *session) want(effects []run.Effect, want ...string) {
	s.Helper()
	if got := brief(effects); !slices.Equal(got, want) {
		s.Fatalf("effects\n got %q\nwant %q", got, want)
	}
}

func (s *session) wantPhase(want run.Phase) {
	s.Helper()
	if s.state.Phase != want {
		s.Fatalf("phase: got %s, want %s", s.state.Phase, want)
	}
}

// last is the last reply and the outcome of the run it ended.
func (s *session) last() (run.Reply, run.Event) {
	s.Helper()
	if len(s.replies) == 0 || len(s.log) == 0 {
		s.Fatal("nothing was said")
	}
	return s.replies[len(s.replies)-1], s.log[len(s.log)-1]
}

func (s *session) wantEnd(outcome run.Outcome, code llm.Code) {
	s.Helper()
	reply, end := s.last()
	var got llm.Code
	if end.Error != nil {
		got = end.Error.Code
	}
	if end.Type != run.Finished || end.Outcome != outcome || got != code || !reply.Final || reply.Text == "" {
		s.Fatalf("end: got %s %s %q (final %v %q), want %s %q", end.Type, end.Outcome, got, reply.Final, reply.Text, outcome, code)
	}
}
