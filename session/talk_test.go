package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/bus/streams"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

var (
	epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ana   = session.DM("web", "", "ana")
)

// newStore provisions b and makes a Store on it, whose Publisher runs until
// the test ends.
func newStore(t testing.TB, b *bus.Bus) *session.Store {
	t.Helper()
	if err := streams.Provision(context.Background(), b.JS, 1, 4, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	publisher, err := publishing.New(b.NC, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = publisher.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return &session.Store{
		Publisher: publisher, Reader: records.NewReader(b.JS), Files: filestore.New(b.JS), Limit: 512 << 10, Log: zerolog.Nop(),
	}
}

// A talk drives a log as the conductor of an agent does.
type talk struct {
	*session.Log
	t     testing.TB
	store *session.Store
	at    time.Time
	turns int
}

func openTalk(t testing.TB, s *session.Store) *talk {
	t.Helper()
	l, err := s.Open(t.Context(), "bot", ana)
	if err != nil {
		t.Fatal(err)
	}
	return &talk{Log: l, t: t, store: s, at: epoch}
}

// reopen is the session as another host finds it.
func (c *talk) reopen() *talk {
	c.t.Helper()
	again := openTalk(c.t, c.store)
	again.at, again.turns = c.at, c.turns
	return again
}

// step signals the machine, a second after the last time, and returns the
// commits that it owes.
func (c *talk) step(sig run.Signal) []run.Effect {
	c.at = c.at.Add(time.Second)
	sig.At = c.at
	var owed []run.Effect
	for _, e := range c.Step(sig, run.Limits{}) {
		if e.Kind == run.Commit {
			address(e.Events)
			owed = append(owed, e)
		}
	}
	return owed
}

// send signals the machine and waits until its commits are stored.
func (c *talk) send(sig run.Signal) {
	c.t.Helper()
	for _, e := range c.step(sig) {
		if err := c.commit(e); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *talk) commit(e run.Effect) error {
	stored := make(chan error, 1)
	c.Commit(context.Background(), e.Run, e.Events, func(err error) { stored <- err })
	return <-stored
}

func (c *talk) add(events ...run.Event) error {
	stored := make(chan error, 1)
	c.Add(context.Background(), events, func(err error) { stored <- err })
	return <-stored
}

// turn is a question and its answer.
func (c *talk) turn() {
	c.t.Helper()
	c.turns++
	c.send(ask(fmt.Sprint("r", c.turns), "hello"))
	c.send(say("hello yourself"))
}

func (c *talk) encoded() string {
	c.t.Helper()
	return encode(c.t, c.State())
}

// same checks that who opens the log finds the state that is live here.
func (c *talk) same() {
	c.t.Helper()
	if got, want := c.reopen().encoded(), c.encoded(); got != want {
		c.t.Fatalf("opened again\n got %s\nwant %s", got, want)
	}
}

func encode(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// address writes replies as a conductor does.
func address(events []run.Event) {
	for _, e := range events {
		if e.Reply != nil {
			e.Reply.ID, e.Reply.Subject = "reply", "plugin.outbound.web"
			e.Reply.Envelope = json.RawMessage(`{"text":"hello"}`)
		}
	}
}

func input(id string) run.Input {
	return run.Input{ID: id, Subject: "plugin.inbound.web", Envelope: json.RawMessage(`{"text": "x"}`)}
}

func waiting(id string) run.Event {
	in := input(id)
	return run.Event{Type: run.InputAdded, At: epoch, Input: &in}
}

func ask(id, text string) run.Signal {
	m := llm.UserText(text)
	return run.Signal{Kind: run.Submit, Run: id, Message: &m, Inputs: []run.Input{input("in-" + id)}}
}

func join(id, text string) run.Signal {
	sig := ask(id, text)
	sig.Join = true
	return sig
}

func attempt(id string, n int) run.Signal {
	sig := ask(id, "hello")
	sig.Attempt = n
	return sig
}

func say(text string) run.Signal {
	m := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: text}}}
	return run.Signal{Kind: run.StreamEnd, Message: &m, Finish: llm.FinishStop}
}

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

func suspend(call string) run.Signal {
	return run.Signal{Kind: run.ToolSettled, Call: call, Wait: &run.Wait{For: run.ForQuestion, Prompt: "which?"}}
}

func answer(call, with string) run.Signal {
	return run.Signal{Kind: run.Answered, Call: call, Answer: with}
}

// The subjects of the session of every test.
func logSubject() string      { return session.Subject("bot", session.SID("bot", ana)) }
func snapshotSubject() string { return "agent.snapshot.bot." + session.SID("bot", ana) }

func sessions(t testing.TB, b *bus.Bus) jetstream.Stream {
	t.Helper()
	s, err := b.JS.Stream(context.Background(), bus.SessionsStream)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t testing.TB, b *bus.Bus, subject, data string) {
	t.Helper()
	msg := nats.NewMsg(subject)
	msg.Data = []byte(data)
	if _, err := b.JS.PublishMsg(context.Background(), msg); err != nil {
		t.Fatal(err)
	}
}

func open(t testing.TB) (*bus.Bus, *session.Store) {
	t.Helper()
	b := bustest.Open(t)
	return b, newStore(t, b)
}
