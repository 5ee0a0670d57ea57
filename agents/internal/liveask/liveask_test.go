package liveask_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/liveask"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/publishing"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/tools"

	"github.com/rs/zerolog"
)

// A chat is a session with one run, whose tools ask.
type chat struct {
	*liveask.Questions
	run    *inflight.Run
	newest uint64 // of what has come before the next question
	number int    // of the last question
	over   bool   // the run can ask no more
	asked  chan run.Reply
}

func newChat(t *testing.T, registry *hooks.Registry, timeout time.Duration) *chat {
	t.Helper()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	publisher, err := publishing.New(b.NC, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	p := parts.New(parts.Options{JS: b.JS, Publisher: publisher, Hooks: registry, MaxPayload: 1 << 20})
	t.Cleanup(p.Asks.Wait)
	work, end := context.WithCancel(context.Background())
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		p.Asks.Open.Follow(work, b.JS, zerolog.Nop())
	}()
	t.Cleanup(func() { end(); <-followed })
	a := &inflight.Agent{ID: "ana", Parts: p, Work: work}
	cfg := agents.Config{ID: "ana", Limits: agents.Limits{ApprovalTimeout: timeout}}
	a.Profile.Store(profile.New(cfg, profile.Kit{Chain: new(llm.Chain), Box: new(profile.Toolbox)}, new(profile.Peers)))
	s := inflight.Session{Agent: a, Key: "web/dm/ann"}
	c := &chat{Questions: &liveask.Questions{Session: s}, run: &inflight.Run{Session: s, ID: "r1"}, newest: 5, asked: make(chan run.Reply, 10)}
	c.run.Prepare([]*message.Item{said(5, "go")})
	return c
}

// An answer is what a call of Ask returns.
type answer struct {
	text string
	err  error
}

// ask has a tool ask, and returns the id of the question and what will be its answer.
func (c *chat) ask(t *testing.T, prompt string, options ...string) (id string, got chan answer) {
	t.Helper()
	c.number++
	by := liveask.Asker{
		Run:  c.run,
		Word: func(waits []*run.Wait) { waits[0].Number, waits[0].Said = c.number, prompt },
		While: func(put func(uint64)) bool {
			if !c.over {
				put(c.newest)
			}
			return !c.over
		},
		Send: func(b *outbox.Batch) { c.asked <- *b.Replies[0] },
	}
	got = make(chan answer, 1)
	go func() {
		text, err := c.Ask(context.Background(), by, tools.Call{ID: "c1", Run: "r1", Name: "pay"}, prompt, options)
		got <- answer{text, err}
	}()
	if c.over {
		return "", got
	}
	var out bus.Outbound
	if err := json.Unmarshal((<-c.asked).Envelope, &out); err != nil {
		t.Fatal(err)
	}
	return out.Call, got
}

func said(seq uint64, text string) *message.Item {
	return &message.Item{
		Input:  run.Input{ID: "m" + text, Subject: "plugin.inbound.web", Seq: seq},
		Origin: message.Origin{Subject: "plugin.inbound.web", Inbound: &bus.Inbound{From: "ann", Text: text}},
	}
}

// naming is said for the question with that id.
func naming(id, text string) *message.Item {
	it := said(6, text)
	it.Origin.Inbound.Answers = id
	return it
}

func (c *chat) take(t *testing.T, it *message.Item, want bool) (screen func() string) {
	t.Helper()
	screen, ok := c.Take(it, nil)
	if ok != want {
		t.Errorf("%q is taken for an answer: %t, want %t", it.Origin.Inbound.Text, ok, want)
	}
	return screen
}

func expect(t *testing.T, got chan answer, want string) {
	t.Helper()
	select {
	case a := <-got:
		if a.err != nil || a.text != want {
			t.Errorf("the tool has %q, %v, want %q", a.text, a.err, want)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the tool has no answer")
	}
}

// What a person says answers the question that was put before, and the first answer counts.
func TestAnswers(t *testing.T) {
	t.Parallel()
	c := newChat(t, hooks.New(zerolog.Nop()), time.Hour)
	c.take(t, said(6, "red"), false) // nothing was asked
	id, got := c.ask(t, "Which?", "Red", "Blue")
	c.take(t, said(5, "red"), false) // it came before
	c.take(t, said(6, "green"), false)
	c.take(t, said(6, "/stop"), false)
	c.take(t, naming("ana.x.y", "red"), false)
	c.take(t, said(6, "red"), true)
	c.take(t, said(7, "blue"), false)
	c.take(t, naming(id, "blue"), false)
	expect(t, got, "Red")
	bustest.Eventually(t, "no question is open", func() bool { return !c.Any() })
	c.take(t, said(8, "blue"), false)
}

// Of two questions that are open each has the answer that has its number or names it.
func TestTwoQuestions(t *testing.T) {
	t.Parallel()
	c := newChat(t, hooks.New(zerolog.Nop()), time.Hour)
	_, first := c.ask(t, "Which?", "Red", "Blue")
	second, other := c.ask(t, "Whose?", "Red", "Green")
	if c.Highest() != 2 {
		t.Errorf("the highest number is %d, want 2", c.Highest())
	}
	c.take(t, naming(second, "red"), true)
	c.take(t, said(6, "1 blue"), true)
	expect(t, first, "Blue")
	expect(t, other, "Red")
}

// A message that names a question and does not fit it is told what would.
func TestUnfit(t *testing.T) {
	t.Parallel()
	c := newChat(t, hooks.New(zerolog.Nop()), time.Hour)
	id, got := c.ask(t, "Which?", "Red", "Blue")
	for text, want := range map[string]bool{"green": true, "blue": false, "": false} {
		if why := c.Unfit(naming(id, text)); (why != nil) != want {
			t.Errorf("%q does not fit: %+v, want %t", text, why, want)
		}
	}
	if why := c.Unfit(said(6, "green")); why != nil {
		t.Errorf("what names no question does not fit it: %+v", why)
	}
	c.take(t, naming(id, ""), true) // for the tool to judge
	expect(t, got, "")
}

// A person is told once what their message waits for, if it came after the question.
func TestNotice(t *testing.T) {
	t.Parallel()
	c := newChat(t, hooks.New(zerolog.Nop()), time.Hour)
	_, got := c.ask(t, "Which?", "Red", "Blue")
	for i, want := range []bool{false, true, false} {
		if told := c.Notice(said(uint64(5+i), "well")); (told != "") != want {
			t.Errorf("message %d is told %q, want a notice: %t", i, told, want)
		}
	}
	c.Dismiss()
	<-got
}

// A question that is dismissed has no answer, and one that the run can ask no more is not put.
func TestNoPerson(t *testing.T) {
	t.Parallel()
	c := newChat(t, hooks.New(zerolog.Nop()), time.Hour)
	_, got := c.ask(t, "Which?")
	c.Dismiss()
	c.over = true
	_, late := c.ask(t, "Whose?")
	for _, ch := range []chan answer{got, late} {
		if a := <-ch; !errors.Is(a.err, liveask.ErrNoPerson) {
			t.Errorf("got %q, %v, want %v", a.text, a.err, liveask.ErrNoPerson)
		}
	}
	if c.Any() || len(c.asked) > 0 {
		t.Error("a question was left")
	}
}

// A question waits as long as a person has to approve.
func TestTimeout(t *testing.T) {
	t.Parallel()
	c := newChat(t, hooks.New(zerolog.Nop()), time.Millisecond)
	_, got := c.ask(t, "Which?")
	if a := <-got; a.err == nil || errors.Is(a.err, liveask.ErrNoPerson) {
		t.Errorf("got %q, %v, want no answer in time", a.text, a.err)
	}
	if c.Any() {
		t.Error("the question is still open")
	}
}

// The hooks see an answer in a person's own words before the tool does. After one that they
// refuse the question waits on.
func TestScreenedAnswer(t *testing.T) {
	t.Parallel()
	registry := hooks.New(zerolog.Nop())
	_, err := registry.Add(hooks.BeforeMessage, 0, "test", func(_ context.Context, call hooks.Call) (hooks.Outcome, error) {
		var in bus.Inbound
		if err := json.Unmarshal(call.Args["message"], &in); err != nil || in.Text == "secret" {
			return hooks.Outcome{Action: hooks.Abort, Reason: "no secrets"}, err
		}
		return hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": json.RawMessage(`{"text":"[hidden]"}`)}}, nil
	}, hooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := newChat(t, registry, time.Hour)
	_, got := c.ask(t, "What is it?")
	enveloped := func(seq uint64, text string) *message.Item {
		it := said(seq, text)
		it.Input.Envelope, _ = json.Marshal(it.Origin.Inbound)
		return it
	}
	refused := c.take(t, enveloped(6, "secret"), true)
	c.take(t, enveloped(7, "too soon"), false)
	if why := refused(); why != "no secrets" {
		t.Fatalf("the answer is refused with %q", why)
	}
	if why := c.take(t, enveloped(8, "well"), true)(); why != "" {
		t.Fatalf("the answer is refused with %q", why)
	}
	expect(t, got, "[hidden]")
}
