package runner_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/liveask"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/agents/internal/replies"
	"agenthost/agents/internal/runner"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"
)

const key = "web/dm/ann"

// A deciding behaviour stands in the place of a model.
type deciding struct {
	agents.Base
	decide func(ctx context.Context, t agents.Turn) (agents.Answer, error)
}

func (d deciding) Decide(ctx context.Context, t agents.Turn) (agents.Answer, error) {
	return d.decide(ctx, t)
}

// A chat is a conversation as its run sees it, with what a test has come for the run.
type chat struct {
	runs    *runner.Runs
	journal *session.Log
	calls   []string // of the run, in their order

	come   chan runner.Interjection // what is for the run
	orders chan *message.Item       // further ones to stop it
	last   chan []*run.Reply        // what the last commit says
}

func (c *chat) Enter(*runner.Runner) { c.calls = append(c.calls, "enter") }
func (c *chat) Leave(*runner.Runner) { c.calls = append(c.calls, "leave") }
func (c *chat) GoesOn()              { c.calls = append(c.calls, "goes on") }
func (c *chat) Newest() uint64       { return 1 }

func (c *chat) Next(context.Context, *session.Log) (in runner.Interjection, ok bool, err error) {
	select {
	case in = <-c.come:
		return in, true, nil
	default:
		return in, false, nil
	}
}

func (c *chat) TakeAbort(*session.Log) *message.Item {
	select {
	case order := <-c.orders:
		return order
	default:
		return nil
	}
}

func (c *chat) Committed(_ *runner.Runner, last []*run.Reply, err error) {
	if err != nil {
		last = []*run.Reply{{Text: err.Error()}}
	}
	c.last <- last
}

// newChat is a chat with an agent that decides so, and has these tools.
func newChat(t *testing.T, decide func(ctx context.Context, t agents.Turn) (agents.Answer, error), own ...tools.Tool) *chat {
	t.Helper()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	publisher, err := publishing.New(b.NC, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	store := &session.Store{Publisher: publisher, Reader: records.NewReader(b.JS), Files: filestore.New(b.JS), Limit: 1 << 19, Log: zerolog.Nop()}
	peers := new(profile.Peers)
	p := parts.New(parts.Options{
		NC: b.NC, JS: b.JS, Publisher: publisher, Reader: store.Reader, Store: store, Hooks: hooks.New(zerolog.Nop()), Peers: peers, MaxPayload: 1 << 20,
	})
	t.Cleanup(p.Asks.Wait)
	policy, err := tools.NewPolicy(nil)
	if err != nil {
		t.Fatal(err)
	}
	work, end := context.WithCancel(context.Background())
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		p.Asks.Open.Follow(work, b.JS, zerolog.Nop())
	}()
	t.Cleanup(func() { end(); <-followed })
	a := &inflight.Agent{ID: "ana", Parts: p, Work: work}
	cfg := agents.Config{ID: "ana", Limits: agents.Limits{RunTimeout: time.Minute, ApprovalTimeout: time.Hour}}
	box := &profile.Toolbox{Registry: tools.NewRegistry(), Own: own, Policy: policy, Validator: new(tools.Validator)}
	a.Profile.Store(profile.New(cfg, profile.Kit{Chain: new(llm.Chain), Box: box, Behavior: deciding{decide: decide}}, peers))
	s := inflight.Session{Agent: a, Key: key}
	c := &chat{come: make(chan runner.Interjection, 9), orders: make(chan *message.Item, 9), last: make(chan []*run.Reply, 1)}
	c.runs = &runner.Runs{
		Session: s, Conversation: c, Live: &liveask.Questions{Session: s}, Nudge: make(chan struct{}, 1),
		Out: &replies.Sender{Session: s, Sent: func() {}},
	}
	if c.journal, err = store.Open(t.Context(), "ana", key); err != nil {
		t.Fatal(err)
	}
	return c
}

// answers has the agent say the text to all.
func answers(text string) func(context.Context, agents.Turn) (agents.Answer, error) {
	return func(context.Context, agents.Turn) (agents.Answer, error) { return agents.Say(text), nil }
}

func said(id, text string) *message.Item {
	in := &bus.Inbound{From: "ann", Text: text}
	return &message.Item{
		Input:  run.Input{ID: id, Subject: "plugin.inbound.web", Seq: 1, Envelope: []byte(`{"from":"ann","text":"` + text + `"}`)},
		Origin: message.Origin{Subject: "plugin.inbound.web", Inbound: in},
	}
}

// starts has a run begin with a message, and returns what comes of it.
func (c *chat) starts(text string) chan error {
	t := c.runs.New(c.journal, "r1", []*message.Item{said("m1", text)})
	return async(t.Start)
}

func async(do func() error) chan error {
	ended := make(chan error, 1)
	go func() { ended <- do() }()
	return ended
}

// soon is what a channel brings.
func soon[T any](t *testing.T, from <-chan T, what string) (got T) {
	t.Helper()
	select {
	case got = <-from:
	case <-time.After(20 * time.Second):
		t.Fatal("nothing comes: ", what)
	}
	return got
}

// ends is what the last commit of the run says.
func (c *chat) ends(t *testing.T, ended chan error) *run.Reply {
	t.Helper()
	if err := soon(t, ended, "the end of the run"); err != nil {
		t.Fatal(err)
	}
	last := soon(t, c.last, "the last commit")
	if len(last) != 1 {
		t.Fatalf("the last commit has %d replies, want one", len(last))
	}
	if left := c.journal.State().Run; left != nil {
		t.Errorf("run %s is left in the log", left.ID)
	}
	return last[0]
}

// A run goes from its input to its last commit, and is at work in between.
func TestStart(t *testing.T) {
	t.Parallel()
	c := newChat(t, answers("hello"))
	ended := c.starts("hi")
	if reply := c.ends(t, ended); reply.Text != "hello" || !reply.Final || reply.Subject != "plugin.outbound.web" {
		t.Errorf("got %+v", reply)
	}
	if diff := cmp.Diff([]string{"enter", "leave"}, c.calls); diff != "" {
		t.Error(diff)
	}
}

// What joins a run is an input of it, and the model sees it.
func TestInterjectionJoins(t *testing.T) {
	t.Parallel()
	asked, goOn := make(chan string, 2), make(chan struct{}, 2)
	c := newChat(t, func(_ context.Context, turn agents.Turn) (agents.Answer, error) {
		asked <- turn.Text()
		<-goOn
		return agents.Say("heard: " + turn.Text()), nil
	})
	r := c.runs.New(c.journal, "r1", []*message.Item{said("m1", "one")})
	ended := async(r.Start)
	if got := soon(t, asked, "a call of the model"); got != "one" {
		t.Errorf("the model hears %q", got)
	}
	second := said("m2", "two")
	c.come <- runner.Interjection{Item: second, Signal: run.Signal{
		Kind: run.Submit, At: time.Now(), Run: "steer:m2", Inputs: []run.Input{second.Input}, Join: true,
	}}
	c.runs.Poke()
	bustest.Eventually(t, "the message has joined", func() bool { return r.Takes("m2") })
	goOn <- struct{}{}
	goOn <- struct{}{}
	if reply := c.ends(t, ended); reply.Text != "heard: two" {
		t.Errorf("it says %q", reply.Text)
	}
	if _, logged := c.journal.Seen("m2"); !logged {
		t.Error("the log does not have what has joined")
	}
}

// An order to stop has the model end; a second one waits for nothing.
func TestAbort(t *testing.T) {
	t.Parallel()
	for name, listens := range map[string]bool{"once": true, "twice": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, over := make(chan struct{}, 1), make(chan struct{})
			defer close(over)
			c := newChat(t, func(ctx context.Context, _ agents.Turn) (agents.Answer, error) {
				asked <- struct{}{}
				if listens {
					<-ctx.Done()
				} else {
					<-over
				}
				return agents.Answer{}, context.Canceled
			})
			ended := c.starts("hi")
			soon(t, asked, "a call of the model")
			order := said("m2", "/stop")
			c.come <- runner.Interjection{Item: order, Signal: run.Signal{Kind: run.Abort, At: time.Now(), Run: "r1", By: "ann", Input: &order.Input}}
			if !listens {
				c.orders <- nil // it is asked for at once, and has yet to come
				c.orders <- &message.Item{}
			}
			c.runs.Poke()
			if !listens {
				bustest.Eventually(t, "both orders are taken", func() bool { c.runs.Poke(); return len(c.orders) == 0 })
			}
			if reply := c.ends(t, ended); reply.Error == nil || reply.Error.Code != llm.CodeCancelled {
				t.Errorf("got %+v", reply)
			}
		})
	}
}

// A run that waits for a person is over until the answer comes, and goes on with that.
func TestGoOn(t *testing.T) {
	t.Parallel()
	pay := tools.Tool{Name: "pay", Run: func(context.Context, tools.Call) (tools.Result, error) { return tools.Result{Text: "paid"}, nil }}
	c := newChat(t, func(_ context.Context, turn agents.Turn) (agents.Answer, error) {
		if results := turn.Results(); len(results) > 0 {
			return agents.Say(results[0].Text), nil
		}
		return agents.Use("pay", nil), nil
	}, pay)
	if err := soon(t, c.starts("pay"), "the end of the run"); !errors.Is(err, runner.ErrSuspended) {
		t.Fatalf("got %v, want %v", err, runner.ErrSuspended)
	}
	left := c.journal.State().Run
	if left == nil || len(left.Open()) != 1 {
		t.Fatalf("got %+v, want a run that waits for one answer", left)
	}
	r := c.runs.New(c.journal, "r1", nil)
	r.TakeUp(left)
	ended := async(func() error {
		return r.GoOn(left, run.Signal{Kind: run.Answered, At: time.Now(), Call: left.Open()[0].ID, Answer: run.Approve, By: "ann", Scope: "once"})
	})
	if reply := c.ends(t, ended); reply.Text != "paid" {
		t.Errorf("it says %q", reply.Text)
	}
	if diff := cmp.Diff([]string{"enter", "leave", "goes on", "enter", "leave"}, c.calls); diff != "" {
		t.Error(diff)
	}
}

// A panic on the way of a run is an error of the run, and ends no host.
func TestPanic(t *testing.T) {
	t.Parallel()
	c := newChat(t, answers("hello"))
	r := c.runs.New(c.journal, "r1", nil) // of no input, which is a mistake
	if err := soon(t, async(r.Start), "the end of the run"); err == nil {
		t.Error("got no error")
	}
}

// A try counts against a run, unless its host stopped in good order.
func TestNextTry(t *testing.T) {
	t.Parallel()
	item := func(tried, handed bool) *message.Item { return &message.Item{Tried: tried, Handed: handed} }
	tests := map[string]struct {
		left               run.Run
		items              []*message.Item
		attempt, notBlamed int
	}{
		"the second try":        {run.Run{}, []*message.Item{item(true, false)}, 2, 0},
		"one more":              {run.Run{Attempt: 3, Handed: 1}, []*message.Item{item(true, false)}, 4, 1},
		"handed over":           {run.Run{Attempt: 3, Handed: 1}, []*message.Item{item(true, true)}, 4, 2},
		"not all of it":         {run.Run{Attempt: 3}, []*message.Item{item(true, true), item(true, false)}, 4, 0},
		"what has joined since": {run.Run{Attempt: 3}, []*message.Item{item(true, true), item(false, false)}, 4, 1},
		"of the log alone":      {run.Run{Attempt: 3}, nil, 4, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			attempt, notBlamed := runner.NextTry(&tt.left, tt.items)
			if attempt != tt.attempt || notBlamed != tt.notBlamed {
				t.Errorf("got try %d with %d not blamed, want %d with %d", attempt, notBlamed, tt.attempt, tt.notBlamed)
			}
		})
	}
}
