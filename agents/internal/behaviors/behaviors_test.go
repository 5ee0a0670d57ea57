package behaviors

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/waittest"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// A listener is a behaviour that does what its fields say.
type listener struct {
	agents.Base
	onMessage func(context.Context, agents.Message) (agents.Action, error)
	onEvent   func(agents.Event) error
	onTick    func() error
	topics    []string
}

func (l listener) OnMessage(ctx context.Context, m agents.Message) (agents.Action, error) {
	return l.onMessage(ctx, m)
}
func (l listener) OnEvent(_ context.Context, e agents.Event) error { return l.onEvent(e) }
func (l listener) OnHeartbeat(context.Context, agents.Tick) error  { return l.onTick() }
func (l listener) Topics() []string                                { return l.topics }

func agentOf(b agents.Behavior, nc *nats.Conn, log *bustest.LogBuffer) *inflight.Agent {
	opt := parts.Options{NC: nc}
	if log != nil {
		opt.Log = zerolog.New(log)
	}
	a := &inflight.Agent{ID: "ana", Parts: parts.New(opt), Work: context.Background()}
	a.Profile.Store(profileOf(b))
	return a
}

func profileOf(b agents.Behavior) *profile.Profile {
	box := &profile.Toolbox{Registry: tools.NewRegistry()}
	return profile.New(agents.Config{ID: "ana"}, profile.Kit{Chain: new(llm.Chain), Box: box, Behavior: b}, new(profile.Peers))
}

func runOf(b agents.Behavior) *inflight.Run {
	a := agentOf(b, nil, nil)
	return &inflight.Run{
		Session: inflight.Session{Agent: a, Key: "web/dm/ann"}, ID: "r1", Profile: a.Now(),
		Items: []*message.Item{{
			Input:  run.Input{ID: "m1"},
			Origin: message.Origin{Subject: "plugin.inbound.web", Inbound: &bus.Inbound{From: "ann", Name: "Ann", Chat: "c", Text: "hi"}},
		}},
	}
}

// What OnMessage returns becomes a signal to the machine, or another message.
func TestReceived(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		act  agents.Action
		err  error
		dies bool
		want run.Signal // of no kind: the run goes on
		says string     // what the model is told
	}{
		"goes on": {says: "hi"},
		"changes": {act: agents.Action{Change: llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: "ho"}}}}, says: "ho"},
		"answers": {act: agents.Action{Answer: "closed"}, want: run.Signal{Kind: run.StreamEnd}, says: "hi"},
		"drops":   {act: agents.Action{Drop: "spam"}, want: run.Signal{Kind: run.Abort, Reason: "spam", By: "behavior"}, says: "hi"},
		"fails":   {err: errors.New("broken"), want: run.Signal{Kind: run.Fault, Error: &run.Error{Code: llm.CodeInternal}}, says: "hi"},
		"panics":  {dies: true, want: run.Signal{Kind: run.Fault, Error: &run.Error{Code: llm.CodeInternal}}, says: "hi"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := runOf(listener{onMessage: func(_ context.Context, m agents.Message) (agents.Action, error) {
				if tt.dies {
					panic("bug")
				}
				if m.From != "ann" || m.Name != "Ann" || m.Chat != "c" || m.ID != "m1" || m.Run != "r1" || m.Text() != "hi" {
					t.Errorf("it is told %+v", m)
				}
				return tt.act, tt.err
			}})
			msg := llm.UserText("hi")
			sig := Received(t.Context(), r, &msg)
			if msg.Text() != tt.says || msg.Role != llm.User {
				t.Errorf("the model is told %+v", msg)
			}
			switch {
			case sig == nil:
				if tt.want.Kind != "" {
					t.Error("the run goes on")
				}
			case sig.Kind != tt.want.Kind || sig.Reason != tt.want.Reason || sig.By != tt.want.By || sig.Run != "r1":
				t.Errorf("got %+v", sig)
			case tt.want.Error != nil && sig.Error.Code != tt.want.Error.Code:
				t.Errorf("got %+v", sig.Error)
			case tt.act.Answer != "" && sig.Message.Text() != tt.act.Answer:
				t.Errorf("it answers %+v", sig.Message)
			}
		})
	}
	if msg := llm.UserText("hi"); Received(t.Context(), runOf(nil), &msg) != nil {
		t.Error("an agent without a behaviour does not go on")
	}
}

// A method that hangs is not waited for after the time of the run.
func TestReceivedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		defer close(over)
		r := runOf(listener{onMessage: func(context.Context, agents.Message) (agents.Action, error) {
			<-over
			return agents.Action{}, nil
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		msg := llm.UserText("hi")
		if sig := Received(ctx, r, &msg); sig == nil || sig.Kind != run.Fault || sig.Error.Code != llm.CodeRunTimeout {
			t.Errorf("got %+v", sig)
		}
	})
}

// An event or a tick that fails is logged and over.
func TestFailuresAreLogged(t *testing.T) {
	t.Parallel()
	var log bustest.LogBuffer
	b := listener{onEvent: func(agents.Event) error { panic("bug") }, onTick: func() error { return errors.New("no time") }}
	a := agentOf(b, nil, &log)
	onEvent(a, &nats.Msg{Subject: "orders.new"})
	OnHeartbeat(a, b, time.Now())
	for _, want := range []string{"panic: bug", "orders.new", "no time"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log has no %q: %s", want, &log)
		}
	}
	onEvent(agentOf(nil, nil, nil), &nats.Msg{Subject: "orders.new"}) // it has no behaviour any more
}

// Topics are those of the behaviour that there is by now, until they are stopped.
func TestTopics(t *testing.T) {
	t.Parallel()
	nc := bustest.Open(t).NC
	var heard atomic.Pointer[string]
	on := func(topics ...string) listener {
		return listener{topics: topics, onEvent: func(e agents.Event) error { heard.Store(&e.Subject); return nil }}
	}
	a := agentOf(on("a", "b"), nc, nil)
	topics, before := new(Topics), nc.NumSubscriptions()
	topics.Update(a) // before it is open, it subscribes to nothing
	topics.Open(t.Context(), a)
	hears := func(subject string) {
		t.Helper()
		waittest.Until(t, "it hears of "+subject, func() bool {
			if err := nc.Publish(subject, nil); err != nil {
				t.Fatal(err)
			}
			got := heard.Load()
			return got != nil && *got == subject
		})
	}
	hears("a")
	hears("b")
	a.Profile.Store(profileOf(on("b", "c", "not a subject")))
	topics.Update(a)
	hears("b")
	hears("c")
	waittest.Until(t, "it leaves a", func() bool {
		msg, err := nc.RequestWithContext(t.Context(), "a", nil)
		return msg == nil && errors.Is(err, nats.ErrNoResponders)
	})
	topics.Stop()
	topics.Wait()
	if n := nc.NumSubscriptions(); n > before+1 { // that of the request
		t.Errorf("%d subscriptions are left, want %d", n, before)
	}
}
