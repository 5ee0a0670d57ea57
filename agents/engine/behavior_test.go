package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/llm"
	"agenthost/session"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
)

// A doer is a behaviour made of functions; those that are nil are Base's.
type doer struct {
	agents.Base
	message func(context.Context, agents.Message) (agents.Action, error)
	decide  func(context.Context, agents.Turn) (agents.Answer, error)
	event   func(agents.Event) error
	topics  []string
}

func (d doer) OnMessage(ctx context.Context, m agents.Message) (agents.Action, error) {
	if d.message == nil {
		return d.Base.OnMessage(ctx, m)
	}
	return d.message(ctx, m)
}

func (d doer) Decide(ctx context.Context, t agents.Turn) (agents.Answer, error) {
	if d.decide == nil {
		return d.Base.Decide(ctx, t)
	}
	return d.decide(ctx, t)
}

func (d doer) OnEvent(_ context.Context, e agents.Event) error { return d.event(e) }

func (d doer) Topics() []string { return d.topics }

const modest = "rules: [{text: \"The model heard ${text}.\"}]"

func does(b agents.Behavior) func(*actor) { return func(a *actor) { a.behavior, a.script = b, modest } }

func shout(_ context.Context, t agents.Turn) (agents.Answer, error) {
	return agents.Say(strings.ToUpper(t.Text())), nil
}

func TestBehaviorDecides(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", does(doer{decide: shout})))
	w.say("ana", bus.Inbound{ID: "1", Text: "hello"})
	w.say("ana", bus.Inbound{ID: "2", Text: "again"})
	w.say("ana", bus.Inbound{ID: "1", Text: "hello"})
	first, second := w.expect("reply", "HELLO"), w.expect("reply", "AGAIN")
	if !first.Final || first.InReplyTo != "1" || first.ID == "" || !second.Final || second.InReplyTo != "2" {
		t.Errorf("got %+v and %+v", first, second)
	}
	w.silent()
}

func TestBehaviorUsesTools(t *testing.T) {
	t.Parallel()
	var seen []string
	paid := doer{decide: func(_ context.Context, t agents.Turn) (agents.Answer, error) {
		results := t.Results()
		seen = append(seen, fmt.Sprintf("%s %s %s %d %d", t.Agent, t.Session, t.Trigger, len(t.Tools), len(results)))
		if len(results) == 0 {
			return agents.Say("I pay.").Use("pay", map[string]int{"sum": 5}).Use("look", nil), nil
		}
		return agents.Say(results[0].Text + " and " + results[1].Text), nil
	}}
	args := make(chan string, 1)
	pay := tools.Tool{Name: "pay", Schema: anything, Run: func(_ context.Context, c tools.Call) (tools.Result, error) {
		args <- string(c.Args)
		return tools.Result{Text: "paid"}, nil
	}}
	w := newWorld(t, bot("ana", does(paid), has(pay, tools.Tool{Name: "look", Schema: anything, ReadOnly: true, Run: text("seen")})))
	w.say("ana", bus.Inbound{Text: "pay"})
	if out := w.hear(); out.Kind != "approval" {
		t.Fatalf("heard %+v, want an approval", out)
	}
	w.say("ana", bus.Inbound{Text: "approve"})
	w.expect("reply", "paid and seen")
	if got := <-args; got != `{"sum":5}` {
		t.Errorf("arguments are %s", got)
	}
	want := []string{"ana ana/dm/ana message 2 0", "ana ana/dm/ana message 2 2"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}
}

func TestBehaviorHearsMessages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		act        agents.Action
		err        error
		panics     bool
		kind, text string
		code       string
	}{
		"goes on":  {kind: "reply", text: "HELLO"},
		"answered": {act: agents.Action{Answer: "At once."}, kind: "reply", text: "At once."},
		"changed":  {act: agents.Action{Change: llm.UserText("bye")}, kind: "reply", text: "BYE"},
		"dropped":  {act: agents.Action{Drop: "We are closed."}, kind: "error", text: "We are closed.", code: "cancelled"},
		"error":    {err: errors.New("oh"), kind: "error", text: "Something went wrong on my side. Please try again.", code: "internal"},
		"panic":    {panics: true, kind: "error", text: "Something went wrong on my side. Please try again.", code: "internal"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			heard := make(chan agents.Message, 1)
			w := newWorld(t, bot("ana", does(doer{decide: shout, message: func(_ context.Context, m agents.Message) (agents.Action, error) {
				heard <- m
				if tt.panics {
					panic("oh")
				}
				return tt.act, tt.err
			}})))
			w.say("ana", bus.Inbound{ID: "m", Text: "hello", Name: "Ana"})
			out := w.expect(tt.kind, tt.text)
			if code := codeOf(out); code != tt.code || !out.Final || out.InReplyTo != "m" {
				t.Errorf("got %+v, want code %q", out, tt.code)
			}
			m := <-heard
			if m.Run == "" {
				t.Error("the message has no run")
			}
			m.Run = ""
			want := agents.Message{
				Agent: "ana", Session: "ana/dm/ana", Trigger: "message", ID: "m", Subject: "plugin.inbound.ana",
				From: "ana", Name: "Ana", Said: llm.UserText("hello"),
			}
			if diff := cmp.Diff(want, m); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func codeOf(out bus.Outbound) string {
	if out.Error == nil {
		return ""
	}
	return out.Error.Code
}

// A failing behaviour ends its run, and the next is served.
func TestBehaviorFails(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answer agents.Answer
		err    error
		code   string
	}{
		"error":          {err: errors.New("oh"), code: "internal"},
		"code":           {err: &llm.Error{Code: llm.CodeProviderRateLimit, Err: errors.New("busy")}, code: "provider_rate_limit"},
		"says nothing":   {code: "internal"},
		"refuses":        {answer: agents.Answer{Finish: llm.FinishContentFilter}, code: "content_filter"},
		"broken call":    {answer: agents.Use("pay", make(chan int)), code: "tool_failed"},
		"no such tool":   {answer: agents.Use("other", nil), code: "tool_failed"},
		"panic":          {code: "internal"},
		"never finishes": {answer: agents.Use("pay", nil), code: "turn_limit"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", has(tools.Tool{Name: "pay", Schema: anything, ReadOnly: true, Run: text("paid")}),
				func(a *actor) { a.cfg.Limits.ModelCalls = 5 },
				does(doer{decide: func(ctx context.Context, turn agents.Turn) (agents.Answer, error) {
					if turn.Text() == "fine" {
						return shout(ctx, turn)
					}
					if name == "panic" {
						panic("oh")
					}
					return tt.answer, tt.err
				}})))
			w.say("ana", bus.Inbound{Text: "fail"})
			if out := w.hear(); out.Kind != "error" || codeOf(out) != tt.code || out.Text == "" || !out.Final {
				t.Errorf("got %+v, want %s", out, tt.code)
			}
			w.say("ana", bus.Inbound{Text: "fine"})
			w.expect("reply", "FINE")
		})
	}
}

func TestBehaviorAsksTheModel(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		decide func(context.Context, agents.Turn) (agents.Answer, error)
		want   string
	}{
		"base": {nil, "The model heard hello."},
		"other question": {func(ctx context.Context, t agents.Turn) (agents.Answer, error) {
			t.Messages = []llm.Message{llm.UserText("another")}
			return t.Ask(ctx)
		}, "The model heard another."},
		"two drafts": {func(ctx context.Context, t agents.Turn) (agents.Answer, error) {
			first, err := t.Ask(ctx)
			if err != nil {
				return first, err
			}
			t.Messages = append(slices.Clip(t.Messages), first.Message, llm.UserText("better"))
			second, err := t.Ask(ctx)
			return agents.Say(first.Text() + " " + second.Text()), err
		}, "The model heard hello. The model heard better."},
		"streamed and replaced": {func(ctx context.Context, t agents.Turn) (agents.Answer, error) {
			if a, err := (agents.Base{}).Decide(ctx, t); err != nil {
				return a, err
			}
			return agents.Say("Other."), nil
		}, "Other."},
		"at once from many": {func(ctx context.Context, t agents.Turn) (agents.Answer, error) {
			answers := make(chan string)
			for range 4 {
				go func() {
					a, err := t.Ask(ctx)
					answers <- fmt.Sprint(a.Text(), err)
				}()
			}
			said := map[string]bool{}
			for range 4 {
				said[<-answers] = true
			}
			return agents.Say(fmt.Sprint(said)), nil
		}, "map[The model heard hello.<nil>:true]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, bot("ana", does(doer{decide: tt.decide})))
			w.say("ana", bus.Inbound{Text: "hello"})
			w.expect("reply", tt.want)
		})
	}
}

// What is left of a turn that is over reaches no model.
func TestBehaviorsTurnIsOver(t *testing.T) {
	t.Parallel()
	left := make(chan agents.Turn, 1)
	w := newWorld(t, bot("ana", does(doer{decide: func(_ context.Context, t agents.Turn) (agents.Answer, error) {
		left <- t
		return agents.Say("done"), nil
	}})))
	w.say("ana", bus.Inbound{Text: "hello"})
	w.expect("reply", "done")
	turn := <-left
	if a, err := turn.Ask(context.Background()); err == nil {
		t.Errorf("answered %q", a.Text())
	}
	if _, err := (agents.Turn{}).Ask(t.Context()); err == nil {
		t.Error("a turn of no run asks a model")
	}
}

func TestBehaviorStreams(t *testing.T) {
	t.Parallel()
	w := newWorld(t, actor{
		cfg: agents.Config{ID: "ana", Channels: []agents.Binding{{Channel: "web"}}}, behavior: doer{},
		script: "rules: [{chunks: [Half, \" and\", \" half.\"]}]",
	})
	var got string
	for _, c := range w.streamOf(w.listen(), "hello") {
		got += c.Text
	}
	if got != "Half and half." {
		t.Errorf("streamed %q", got)
	}
}

// output_schema holds for a behaviour, which is told what was wrong.
func TestBehaviorKeepsToASchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", func(a *actor) { a.output = `{"type":"object","required":["sum"]}` },
		does(doer{decide: func(_ context.Context, t agents.Turn) (agents.Answer, error) {
			if strings.Contains(t.Text(), "agreed JSON Schema") {
				return agents.Say(`{"sum":1}`), nil
			}
			return agents.Say("one"), nil
		}})))
	w.say("ana", bus.Inbound{Text: "hello"})
	w.expect("reply", `{"sum":1}`)
}

// A delegate is a message, too, and its result goes to who asked.
func TestBehaviorWorksForAgents(t *testing.T) {
	t.Parallel()
	from := make(chan string, 1)
	w := newWorld(t, bot("ana", does(doer{decide: shout, message: func(_ context.Context, m agents.Message) (agents.Action, error) {
		from <- fmt.Sprint(m.Trigger, " of ", m.From)
		return agents.Action{}, nil
	}})))
	sub, err := w.bus.NC.SubscribeSync("acme.results")
	if err != nil {
		t.Fatal(err)
	}
	w.publish("agent.route.ana", bus.Route{ID: "1", Kind: bus.RouteDelegate, From: "program", CorrelationID: "c", Text: "work", ReplyTo: "acme.results"})
	msg, err := sub.NextMsgWithContext(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if r, err := bus.DecodeRoute(msg.Data); err != nil || r.Text != "WORK" {
		t.Errorf("got %s, %v", msg.Data, err)
	}
	if got := <-from; got != "delegate of program:program" {
		t.Errorf("message is a %s", got)
	}
}

// A message that joins a run under way is heard of before it does.
func TestBehaviorHearsWhatJoins(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}, 1), make(chan struct{})
	w := newWorld(t, bot("ana",
		has(tools.Tool{Name: "look", Schema: anything, ReadOnly: true, Run: func(context.Context, tools.Call) (tools.Result, error) {
			begun <- struct{}{}
			<-release
			return tools.Result{Text: "seen"}, nil
		}}),
		func(a *actor) { a.cfg.Session.Queue = session.Steer },
		does(doer{
			message: func(_ context.Context, m agents.Message) (agents.Action, error) {
				switch m.Text() {
				case "secret":
					return agents.Action{Drop: "secret"}, nil
				case "quiet":
					close(release)
					return agents.Action{Change: llm.UserText("loud")}, nil
				}
				return agents.Action{}, nil
			},
			decide: func(_ context.Context, t agents.Turn) (agents.Answer, error) {
				if t.Text() == "go" {
					return agents.Use("look", nil), nil
				}
				var said []string
				for _, m := range t.Messages {
					if m.Role == llm.User {
						said = append(said, m.Text())
					}
				}
				return agents.Say(strings.Join(said, ", ")), nil
			},
		})))
	w.say("ana", bus.Inbound{ID: "1", Text: "go"})
	<-begun
	w.say("ana", bus.Inbound{ID: "2", Text: "secret"})
	w.say("ana", bus.Inbound{ID: "3", Text: "quiet"})
	w.expect("reply", "go, [a message was held back: secret], loud")
}

func TestBehaviorHearsEvents(t *testing.T) {
	t.Parallel()
	heard := make(chan string, 10)
	b := doer{topics: []string{"shop.*.sold", "not a subject"}, event: func(e agents.Event) error {
		var sold struct{ Item string }
		if err := e.Decode(&sold); err != nil {
			heard <- "error"
			return err
		}
		if sold.Item == "bomb" {
			panic(sold.Item)
		}
		heard <- e.Agent + " " + e.Subject + " " + sold.Item
		return nil
	}}
	w := newWorld(t, bot("ana", does(b)))
	sell := func(data string) {
		if err := w.bus.NC.Publish("shop.paris.sold", []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "it to listen", func() bool { // no stream keeps what is published before
		sell(`{"item":"salt"}`)
		return len(heard) > 0
	})
	for _, data := range []string{`{"item":"bomb"}`, "{", `{"item":"tea"}`} {
		sell(data)
	}
	for _, want := range []string{"error", "ana shop.paris.sold tea"} {
		got := <-heard
		for got == "ana shop.paris.sold salt" {
			got = <-heard
		}
		if got != want {
			t.Errorf("heard %q, want %q", got, want)
		}
	}
}

// polite and seller are those of the examples of package agents.
type polite struct{ agents.Base }

func (polite) Decide(ctx context.Context, t agents.Turn) (agents.Answer, error) {
	answer, err := t.Ask(ctx)
	if err != nil || !strings.Contains(answer.Text(), "stupid") {
		return answer, err
	}
	t.Messages = append(slices.Clip(t.Messages), answer.Message, llm.UserText("Say that politely."))
	return t.Ask(ctx)
}

type seller struct {
	agents.Base
	nc *nats.Conn
}

func (seller) Topics() []string { return []string{"shop.*.sold"} }

func (s seller) OnEvent(_ context.Context, e agents.Event) error {
	var sale struct {
		ID  string
		Sum int
	}
	if err := e.Decode(&sale); err != nil || sale.Sum < 1000 {
		return err
	}
	data, err := json.Marshal(bus.Route{
		ID: "sale-" + sale.ID, Kind: bus.RouteEvent, From: "sales", Text: fmt.Sprintf("Sold for %d.", sale.Sum),
	})
	if err != nil {
		return err
	}
	return s.nc.Publish("agent.route."+e.Agent, data)
}

func TestPolite(t *testing.T) {
	t.Parallel()
	w := newWorld(t, actor{
		cfg: agents.Config{ID: "ana", Channels: []agents.Binding{{Channel: "ana"}}}, behavior: polite{},
		script: "rules: [{when: politely, text: Perhaps not.}, {text: That is stupid.}]",
	})
	w.say("ana", bus.Inbound{Text: "hello"})
	w.expect("reply", "Perhaps not.")
}

func TestSeller(t *testing.T) {
	t.Parallel()
	s := &seller{}
	a := bot("ana", does(s))
	w := newWorld(t)
	s.nc = w.bus.NC
	w.stop()
	w.start(a)
	replies := make(chan *nats.Msg, 10)
	if _, err := w.bus.NC.ChanSubscribe("agent.session.ana.>", replies); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{`{"id":"1","sum":5}`, `{"id":"2","sum":5000}`, `{"id":"2","sum":5000}`} {
		w.publish("shop.paris.sold", json.RawMessage(data))
	}
	msg := <-replies
	if !strings.Contains(string(msg.Data), "Sold for 5000.") {
		t.Errorf("session: %s", msg.Data)
	}
}
