package passon_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/answers"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/passon"
	"agenthost/agents/internal/profile"
	"agenthost/agents/internal/replies"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const key = "web/dm/ann"

// A chat is a session of ana, in which a run of ben that works for her has asked.
type chat struct {
	passon.Passer
	bus     *bus.Bus
	reader  *records.Reader
	waiting agents.Waiting
	end     context.CancelFunc // stops the host
}

func newChat(t *testing.T, change func(*agents.Waiting), registry *hooks.Registry) *chat {
	t.Helper()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	publisher, err := publishing.New(b.NC, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	c := &chat{bus: b, reader: records.NewReader(b.JS)}
	p := parts.New(parts.Options{JS: b.JS, Publisher: publisher, Reader: c.reader, Hooks: registry, Peers: new(profile.Peers), MaxPayload: 1 << 20})
	t.Cleanup(p.Asks.Wait)
	work, end := context.WithCancel(t.Context())
	c.end = end
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		p.Asks.Open.Follow(work, b.JS, zerolog.Nop())
	}()
	t.Cleanup(func() { end(); <-followed })
	a := &inflight.Agent{ID: "ana", Parts: p, Work: work}
	a.Profile.Store(profile.New(agents.Config{ID: "ana"}, profile.Kit{Chain: new(llm.Chain), Box: new(profile.Toolbox)}, new(profile.Peers)))
	c.Passer = passon.Passer{Session: inflight.Session{Agent: a, Key: key}}
	c.waiting = agents.Waiting{
		ID: "ben." + session.SID("ben", "agent/x") + ".aaaaaaaaaaaaaaaaaaaaaaaaaa", Agent: "ben", Session: "agent/x", Run: "r1", Call: "c1", Kind: run.ForQuestion,
		Prompt: "Which?", Options: []string{"Red", "Blue"}, Number: 1, AskedAt: time.Now(), Deadline: time.Now().Add(time.Hour),
		Origin: &bus.Origin{Agent: "ana", Session: key, Subject: "plugin.outbound.web", To: "ann"},
	}
	if change != nil {
		change(&c.waiting)
	}
	if err := p.Asks.Put(t.Context(), c.waiting); err != nil {
		t.Fatal(err)
	}
	return c
}

func said(text string) *message.Item {
	it := &message.Item{
		Input:    run.Input{ID: "m9", Subject: "plugin.inbound.web", Seq: 9},
		Origin:   message.Origin{Subject: "plugin.inbound.web", Inbound: &bus.Inbound{From: "ann", Text: text}},
		Stored:   time.Now(),
		Delivery: &delivery.Delivery{},
	}
	it.Delivery.Stored = it.Stored
	it.Input.Envelope, _ = json.Marshal(it.Origin.Inbound)
	return it
}

func (c *chat) naming(text string) *message.Item {
	it := said(text)
	it.Origin.Inbound.Answers = c.waiting.ID
	return it
}

// again is an input that comes once more, which an owner before may have begun.
func again(it *message.Item) *message.Item {
	return &message.Item{Input: it.Input, Origin: it.Origin, Stored: it.Stored, Delivery: it.Delivery, Tried: true}
}

// passed are the routes to ben.
func (c *chat) passed(t *testing.T) (list []bus.Route) {
	t.Helper()
	for rec, err := range c.reader.Tail(t.Context(), bus.RoutesStream, bus.RoutePrefix+"ben", 1) {
		if err != nil {
			t.Fatal(err)
		}
		var route bus.Route
		if err := json.Unmarshal(rec.Data, &route); err != nil {
			t.Fatal(err)
		}
		list = append(list, route)
	}
	return list
}

// What is written in the chat goes to the run that has asked there, or is said why not, or is
// for this session.
func TestPass(t *testing.T) {
	t.Parallel()
	late := func(w *agents.Waiting) { w.Deadline = time.Now().Add(-time.Minute) }
	tests := map[string]struct {
		change func(*agents.Waiting)
		in     func(*chat) *message.Item
		may    bool   // it may be for a run elsewhere
		passed string // what ben gets
		why    bool   // it is refused
	}{
		"a word":                {nil, func(*chat) *message.Item { return said("red") }, true, "Red", false},
		"by its id":             {nil, func(c *chat) *message.Item { return c.naming("blue") }, true, "Blue", false},
		"another word":          {nil, func(*chat) *message.Item { return said("green") }, true, "", false},
		"no answer, by its id":  {nil, func(c *chat) *message.Item { return c.naming("green") }, true, "", true},
		"an order":              {nil, func(*chat) *message.Item { return said("/help") }, false, "", false},
		"stop":                  {nil, func(*chat) *message.Item { return said("/stop") }, true, "stop", false},
		"too late":              {late, func(*chat) *message.Item { return said("red") }, true, "", true},
		"too late, another":     {late, func(*chat) *message.Item { return said("green") }, true, "", false},
		"from another chat":     {func(w *agents.Waiting) { w.Origin.Session = "web/dm/eve" }, func(*chat) *message.Item { return said("red") }, false, "", false},
		"of this session":       {func(w *agents.Waiting) { w.Agent, w.Session = "ana", key }, func(*chat) *message.Item { return said("red") }, false, "", false},
		"of an approver alone":  {func(w *agents.Waiting) { w.Kind, w.Options, w.Approvers = run.ForApproval, nil, []string{"web/boss"} }, func(*chat) *message.Item { return said("approve") }, true, "", true},
		"of another, by its id": {func(w *agents.Waiting) { w.Origin.Session, w.Origin.To = "web/dm/eve", "eve" }, func(c *chat) *message.Item { return c.naming("red") }, true, "", true},
		"more than once":        {func(w *agents.Waiting) { w.Kind, w.Options = run.ForApproval, nil }, func(*chat) *message.Item { return said("approve always") }, true, "", true},
		"an approval elsewhere": {func(w *agents.Waiting) { w.Kind, w.Options = run.ForApproval, nil }, func(*chat) *message.Item { return said("approve") }, true, run.Approve, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newChat(t, tt.change, hooks.New(zerolog.Nop()))
			it := tt.in(c)
			if got := c.MayPass(it); got != tt.may {
				t.Errorf("it may be for another session: %t, want %t", got, tt.may)
			}
			out := c.Pass(it, nil)
			if (out.Told != "") != (tt.passed != "") || (out.Refused != nil) != tt.why || out.Over || out.Unknown {
				t.Errorf("it ends with %+v", out)
			}
			list := c.passed(t)
			if len(list) > 1 || (len(list) == 1) != (tt.passed != "") {
				t.Fatalf("passed on were %+v", list)
			}
			if len(list) == 1 && tt.passed != "stop" && (list[0].Text != tt.passed || list[0].CorrelationID != c.waiting.ID) {
				t.Errorf("passed on was %+v, want %q", list[0], tt.passed)
			}
			again, err := c.Agent.Parts.Asks.PassedOn.Find(t.Context(), answers.Reader{Session: c.Session}.PassedOnHash(it), it.Stored.Add(-time.Minute))
			if err != nil || (again != "") != (tt.passed != "") || again != "" && again != c.waiting.ID {
				t.Errorf("the next host finds %q, %v", again, err)
			}
		})
	}
}

// What comes again is passed on once. Its sender is told what became of it, unless they were.
func TestPassAgain(t *testing.T) {
	t.Parallel()
	c := newChat(t, nil, hooks.New(zerolog.Nop()))
	it := said("red")
	first := c.Pass(it, nil)
	if first.Told == "" {
		t.Fatalf("it ends with %+v", first)
	}
	if out := c.Pass(again(it), nil); out != first {
		t.Errorf("what comes again ends with %+v, want %+v", out, first)
	}
	reply := replies.Aside(c.Session, it, run.Reply{Kind: run.KindReply, Final: true, Text: first.Told}).Replies[0]
	msg := &nats.Msg{Subject: reply.Subject, Data: reply.Envelope, Header: nats.Header{nats.MsgIdHdr: {reply.ID}}}
	if _, err := c.bus.JS.PublishMsg(t.Context(), msg); err != nil {
		t.Fatal(err)
	}
	if out := c.Pass(again(it), nil); out != (passon.Outcome{Over: true}) {
		t.Errorf("once its sender was told it ends with %+v", out)
	}
	if list := c.passed(t); len(list) != 1 {
		t.Errorf("it was passed on %d times", len(list))
	}
}

// The hooks see an answer in a person's own words before it is passed on, and may refuse it.
func TestPassWhatHooksLeave(t *testing.T) {
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
	c := newChat(t, func(w *agents.Waiting) { w.Options = nil }, registry)
	if out := c.Pass(said("secret"), nil); out.Refused == nil || out.Refused.Message != "no secrets" {
		t.Errorf("it ends with %+v", out)
	}
	if out := c.Pass(said("well"), nil); out.Told == "" {
		t.Errorf("it ends with %+v", out)
	}
	if list := c.passed(t); len(list) != 1 || list[0].Text != "[hidden]" {
		t.Errorf("passed on were %+v", list)
	}
}

// An answer that names a question which is not known is looked up a few times. Then it is for
// this session, whatever is asked from then on; where the host stops, the next owner looks.
func TestPassSoon(t *testing.T) {
	t.Parallel()
	c := newChat(t, nil, hooks.New(zerolog.Nop()))
	unknown := func() *message.Item {
		it := said("red")
		it.Origin.Inbound.Answers = "ben." + session.SID("ben", "agent/y") + ".bbbbbbbbbbbbbbbbbbbbbbbbbb"
		return it
	}
	it := unknown()
	if out := c.PassSoon(it, nil); out != (passon.Outcome{}) || !it.Local || c.MayPass(it) {
		t.Errorf("it ends with %+v, and is for this session: %t", out, it.Local)
	}
	c.end()
	if out := c.Pass(said("red"), nil); out != (passon.Outcome{Unknown: true}) {
		t.Errorf("in a host that stops an answer ends with %+v", out)
	}
	if out := c.PassSoon(unknown(), nil); out != (passon.Outcome{Unknown: true}) {
		t.Errorf("in a host that stops it ends with %+v", out)
	}
}

// Where an answer was not stored, its sender is not told that it was passed on.
func TestPassOnThatIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"red", "/stop"} {
		c := newChat(t, nil, hooks.New(zerolog.Nop()))
		if _, err := c.bus.JS.UpdateStream(t.Context(), refusing(t, c.bus)); err != nil {
			t.Fatal(err)
		}
		if out := c.Pass(said(text), nil); out != (passon.Outcome{}) {
			t.Errorf("%s ends with %+v", text, out)
		}
	}
}

// refusing is the stream of routes that takes no message as large as any is.
func refusing(t *testing.T, b *bus.Bus) jetstream.StreamConfig {
	t.Helper()
	s, err := b.JS.Stream(t.Context(), bus.RoutesStream)
	if err != nil {
		t.Fatal(err)
	}
	config := s.CachedInfo().Config
	config.MaxMsgSize = 1
	return config
}
