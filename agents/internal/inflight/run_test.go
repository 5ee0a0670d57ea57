package inflight

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/filestore"
	"agenthost/internal/texts"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"

	"github.com/google/go-cmp/cmp"
)

func agentOf(cfg agents.Config, opt parts.Options) *Agent {
	if opt.MaxPayload == 0 {
		opt.MaxPayload = 1 << 20
	}
	a := &Agent{ID: "ana", Parts: parts.New(opt), Work: context.Background()}
	cfg.ID = a.ID
	box := &profile.Toolbox{Registry: tools.NewRegistry()}
	a.Profile.Store(profile.New(cfg, profile.Kit{Chain: new(llm.Chain), Box: box, Bound: make([]profile.Kit, len(cfg.Channels))}, new(profile.Peers)))
	return a
}

// answering is a run of ana that answers these.
func answering(a *Agent, items ...*message.Item) *Run {
	t := &Run{Session: Session{Agent: a, Key: "web/dm/ann"}, ID: "r1"}
	t.Prepare(items)
	return t
}

func inbound(id string, in bus.Inbound) *message.Item {
	data, _ := json.Marshal(in)
	const subject = "plugin.inbound.web"
	return &message.Item{Input: run.Input{ID: id, Subject: subject, Envelope: data}, Origin: message.Origin{Subject: subject, Inbound: &in}}
}

func routed(id string, r bus.Route) *message.Item {
	data, _ := json.Marshal(r)
	const subject = "agent.route.ana"
	return &message.Item{Input: run.Input{ID: id, Subject: subject, Envelope: data}, Origin: message.Origin{Subject: subject, Route: &r}}
}

func person() *message.Item {
	return inbound("m1", bus.Inbound{ID: "m1", From: "ann", Chat: "c", Thread: "t", Text: "hi"})
}

// A reply goes to the chat of its message, or to the agent that asked.
func TestAddress(t *testing.T) {
	t.Parallel()
	asker := &bus.Origin{Agent: "ben", Session: "web/dm/ann", Subject: "plugin.outbound.web", To: "ann", Chat: "c"}
	task := bus.Route{ID: "d1", Kind: bus.RouteDelegate, From: "ben", CorrelationID: "w1", ReplyTo: "agent.route.ben", Chain: []string{"ben"}, Origin: asker}
	tests := map[string]struct {
		cfg     agents.Config
		items   []*message.Item
		reply   run.Reply
		subject string
		want    string // of the envelope
	}{
		"a reply":                      {items: []*message.Item{person()}, reply: run.Reply{Kind: bus.KindReply, Text: "ho", Final: true}, subject: "plugin.outbound.web", want: `"to":"ann","chat":"c","thread":"t","text":"ho"`},
		"of several":                   {items: []*message.Item{person(), inbound("m2", bus.Inbound{From: "ann"})}, reply: run.Reply{Kind: bus.KindReply}, subject: "plugin.outbound.web", want: `"merged":["m1","m2"]`},
		"of a shadow":                  {cfg: agents.Config{ShadowOf: "ben"}, items: []*message.Item{person()}, reply: run.Reply{Kind: bus.KindReply, Text: "ho"}, want: `"text":"ho"`},
		"a result":                     {items: []*message.Item{routed("d1", task)}, reply: run.Reply{Kind: bus.KindReply, Text: "4\x002", Final: true}, subject: "agent.route.ben", want: `"correlation_id":"w1","text":"4` + "\uFFFD" + `2"`},
		"not the last word":            {items: []*message.Item{routed("d1", task)}, reply: run.Reply{Kind: bus.KindReply, Text: "wait"}, want: `"kind":"result"`},
		"a question on its way":        {items: []*message.Item{routed("d1", task)}, reply: run.Reply{Kind: bus.KindApproval, Text: "May I?", Call: "c1"}, subject: "plugin.outbound.web", want: `"to":"ann"`},
		"a heartbeat without news":     {items: []*message.Item{routed("h1", bus.Route{Kind: bus.RouteHeartbeat, Origin: asker})}, reply: run.Reply{Kind: bus.KindReply, Text: run.Nothing, Final: true}, want: `"kind":"reply"`},
		"a heartbeat with news":        {items: []*message.Item{routed("h1", bus.Route{Kind: bus.RouteHeartbeat, Origin: asker})}, reply: run.Reply{Kind: bus.KindReply, Text: "rain", Final: true}, subject: "plugin.outbound.web", want: `"text":"rain"`},
		"an event that nobody follows": {items: []*message.Item{routed("e1", bus.Route{Kind: bus.RouteEvent, From: "shop"})}, reply: run.Reply{Kind: bus.KindReply, Text: "noted", Final: true}, want: `"kind":"result"`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := answering(agentOf(tt.cfg, parts.Options{}), tt.items...)
			reply := tt.reply
			reply.N = 3
			if err := r.Address(&reply); err != nil {
				t.Fatal(err)
			}
			if reply.Subject != tt.subject || !strings.Contains(string(reply.Envelope), tt.want) || reply.ID != "r1.3" {
				t.Errorf("%s goes to %q: %s, want %s", reply.ID, reply.Subject, reply.Envelope, tt.want)
			}
		})
	}
}

// A result that no message has room for is cut, stays JSON, and names the file that has the whole.
func TestLongResult(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	files := filestore.New(b.JS)
	r := answering(agentOf(agents.Config{}, parts.Options{MaxPayload: 16 << 10, Files: files}), routed("d1", bus.Route{Kind: bus.RouteDelegate, From: "ben", ReplyTo: "agent.route.ben"}))
	whole := strings.Repeat("\x01", 100_000)
	reply := run.Reply{Kind: bus.KindReply, Text: whole, Final: true}
	if err := r.Address(&reply); err != nil {
		t.Fatal(err)
	}
	var got bus.Route
	if err := json.Unmarshal(reply.Envelope, &got); err != nil || len(reply.Envelope) > 8<<10 || !strings.HasSuffix(got.Text, "…") {
		t.Errorf("%d bytes, %v", len(reply.Envelope), err)
	}
	if len(got.Media) != 1 || got.Media[0].Name != bus.WholeText || got.Media[0].Size != int64(len(whole)) {
		t.Fatalf("attached: %+v", got.Media)
	}
	if data, err := files.Get(t.Context(), got.Media[0].Object); err != nil || string(data) != whole {
		t.Errorf("the file has %d bytes, %v", len(data), err)
	}
}

// A run knows whose message led to it, also by way of another agent.
func TestWhoseRun(t *testing.T) {
	t.Parallel()
	a := agentOf(agents.Config{Model: agents.Names{"main"}}, parts.Options{})
	at := &bus.Origin{Agent: "ben", Session: "web/dm/ann", Subject: "plugin.outbound.web", To: "ann"}
	tests := map[string]struct {
		item  *message.Item
		payer string
		chain []string
		chat  tools.Chat
	}{
		"a person":  {person(), "web/ann", []string{"ana"}, tools.Chat{Session: "web/dm/ann", Subject: "plugin.outbound.web", To: "ann", Chat: "c", Thread: "t"}},
		"an agent":  {routed("d", bus.Route{Kind: bus.RouteDelegate, From: "ben", Chain: []string{"ben"}, Origin: at}), "web/ann", []string{"ben", "ana"}, tools.Chat{}},
		"a program": {routed("d", bus.Route{Kind: bus.RouteDelegate, From: "job"}), "", []string{"ana"}, tools.Chat{}},
		"the clock": {routed("s", bus.Route{Kind: bus.RouteSchedule, From: "morning", Origin: at}), "", []string{"ana"}, tools.Chat{}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := answering(a, tt.item)
			if got := string(r.Payer()); got != tt.payer {
				t.Errorf("it is paid by %q, want %q", got, tt.payer)
			}
			if diff := cmp.Diff(tt.chain, r.Chain()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.chat, r.Chat()); diff != "" {
				t.Error(diff)
			}
			if r.LastModel() != "main" {
				t.Errorf("nothing was asked yet, and %q was", r.LastModel())
			}
		})
	}
	r := answering(a, person())
	if r.Asked(llm.Link{Name: "openai", Gate: llm.NewGate("spare", llm.Rate{})}); r.LastModel() != "spare" || r.Entry() != "spare" {
		t.Errorf("got %q", r.LastModel())
	}
}

// What is tried again reserves under the name of its message, not of its run.
func TestReservation(t *testing.T) {
	t.Parallel()
	a := agentOf(agents.Config{}, parts.Options{})
	first, again := answering(a, person()), answering(a, person())
	again.ID = "r2"
	if first.Reservation() != again.Reservation() || first.Reservation() == first.ID {
		t.Errorf("got %q and %q", first.Reservation(), again.Reservation())
	}
	if r := answering(a); r.Reservation() != "r1" {
		t.Errorf("without an input: got %q", r.Reservation())
	}
}

func TestInputs(t *testing.T) {
	t.Parallel()
	r := answering(agentOf(agents.Config{}, parts.Options{}), person())
	r.AddInput(run.Input{ID: "m2"})
	r.SetInput(0, run.Input{ID: "m0"})
	edit := inbound("m3", bus.Inbound{Edits: "m0"})
	r.Join(edit)
	if !r.Takes("m0") || !r.Takes("m2") || !r.Takes("m3") || r.Takes("m4") || r.Last().ID != "m2" {
		t.Errorf("got %+v", r.Inputs)
	}
	if got := r.Messages(); len(got) != 1 || got[0] == edit {
		t.Errorf("an edit is a message of its own: %v", got)
	}
	if _, err := answering(r.Agent, &message.Item{Input: run.Input{Subject: "plugin.inbound.web", Envelope: []byte("{")}}).Origin(); err != nil {
		t.Errorf("an item that is held is read again: %v", err)
	}
}

// A run that is taken up stays in the trace that it began in.
func TestTakeUp(t *testing.T) {
	t.Parallel()
	r := answering(agentOf(agents.Config{}, parts.Options{}), person())
	r.TakeUp(&run.Run{Inputs: []run.Input{{ID: "m1", Trace: "first"}, {ID: "m2", Trace: "second"}, {ID: "m3", Trace: "joined"}}, Joined: 1})
	if r.Trace.Parent != "second" || r.Last().ID != "m3" {
		t.Errorf("got the trace %s and %+v", r.Trace.Parent, r.Inputs)
	}
}

// The host answers orders in place of the model; which they are depends on the agent.
func TestOrders(t *testing.T) {
	t.Parallel()
	remind := func(context.Context, texts.Book, string, string, bus.Origin, string) string { return "I will." }
	book := texts.Book{}
	tests := map[string]struct {
		text   string
		order  bool
		says   string // in place of the model
		forget bool
	}{
		"text":          {text: "hello"},
		"stop":          {text: "/stop", order: true},
		"stop and more": {text: "/stop it"},
		"a fresh start": {text: "/NEW", order: true, says: book.Say("fresh_start"), forget: true},
		"help":          {text: "/help", order: true, says: book.Say("help") + "\n" + book.Say("help_remind")},
		"unknown":       {text: "/dance", order: true, says: book.Say("order_unknown", "order", "/dance")},
		"remind":        {text: "/remind in 5m tea", order: true},
		"a path":        {text: "/etc/passwd"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := answering(agentOf(agents.Config{}, parts.Options{Remind: remind}), inbound("m1", bus.Inbound{From: "ann", Text: tt.text}))
			if got := r.IsOrder(r.Items[0].Origin.Inbound); got != tt.order {
				t.Errorf("an order: %v", got)
			}
			sig := r.Ordered(r.Items[0].Origin)
			switch {
			case (sig != nil) != (tt.says != ""):
				t.Errorf("got %+v", sig)
			case sig != nil && (!strings.HasPrefix(sig.Message.Text(), tt.says) || sig.Forget != tt.forget):
				t.Errorf("got %+v, want %q", sig.Message, tt.says)
			}
		})
	}
}

// A reminder is the host's to make, not a shadow's.
func TestCommand(t *testing.T) {
	t.Parallel()
	var asked string
	opt := parts.Options{Remind: func(_ context.Context, _ texts.Book, id, by string, at bus.Origin, text string) string {
		asked = strings.Join([]string{id, by, at.Chat, text}, "|")
		return "I will."
	}}
	it := inbound("m1", bus.Inbound{From: "ann", Chat: "c", Text: "/remind  in 5m tea"})
	if sig := answering(agentOf(agents.Config{}, opt), it).Command(t.Context(), it.Origin, "id"); sig == nil || sig.Message.Text() != "I will." || asked != "id|ann|c|  in 5m tea" {
		t.Errorf("got %+v, asked %q", sig, asked)
	}
	asked = ""
	if sig := answering(agentOf(agents.Config{ShadowOf: "ben"}, opt), it).Command(t.Context(), it.Origin, "id"); sig == nil || sig.Message.Text() != profile.NotRun || asked != "" {
		t.Errorf("a shadow: got %+v, asked %q", sig, asked)
	}
	if sig := answering(agentOf(agents.Config{}, parts.Options{}), it).Command(t.Context(), it.Origin, "id"); sig != nil {
		t.Errorf("without reminders: got %+v", sig)
	}
}

// A backlog is one message, with when it came and how much of it is left out.
func TestBacklog(t *testing.T) {
	t.Parallel()
	from := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	backlog := func(n int, do string) *Run {
		var items []*message.Item
		for i := range n {
			it := person()
			it.Binding, it.Stale = &agents.Binding{Stale: agents.Stale{Do: do}}, from.Add(time.Duration(n-1-i)*time.Hour)
			items = append(items, it)
		}
		return answering(agentOf(agents.Config{}, parts.Options{}), items...)
	}
	texts := func(n int) (list []llm.Message) {
		for range n {
			list = append(list, llm.UserText("hi"))
		}
		return list
	}
	got := backlog(2, agents.StaleSummarise).Summed(texts(2)).Text()
	if want := "[2 messages (2026-05-01 10:00 – 2026-05-01 11:00 UTC) came while you were away. Answer them together, with what still matters now.]\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	got = backlog(150, agents.StaleSummarise).Summed(texts(150)).Text()
	if !strings.Contains(got, "These are the last 100.") || strings.Count(got, "\nhi") != 100 {
		t.Errorf("of many: got %q", got)
	}
	if got := answering(agentOf(agents.Config{}, parts.Options{}), person()).Summed(texts(1)).Text(); got != "hi" {
		t.Errorf("in time: got %q", got)
	}
	dropped := backlog(1, agents.StaleDrop)
	msg, sig := dropped.LeaveOut()
	if !dropped.Dropped() || msg.Text() != "[1 message (2026-05-01 10:00 UTC) came while you were away and were left out.]" || !strings.Contains(sig.Message.Text(), "2026-05-01 10:00 UTC") {
		t.Errorf("got %q, %q", msg.Text(), sig.Message.Text())
	}
}

// Of the firings of one schedule the last tells the model.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	firing := func(from string) *message.Item { return routed(from, bus.Route{Kind: bus.RouteSchedule, From: from}) }
	r := answering(agentOf(agents.Config{}, parts.Options{}), firing("morning"), firing("evening"), person(), firing("morning"))
	for i, want := range []bool{true, false, false, false} {
		if r.Superseded(i) != want {
			t.Errorf("input %d: got %v", i, !want)
		}
	}
}

// The next turn goes by the profile of the binding, as it is by then.
func TestRefresh(t *testing.T) {
	t.Parallel()
	bound := agents.Binding{Channel: "web", Prompt: "Sell."}
	a := agentOf(agents.Config{}, parts.Options{})
	r := answering(a, person())
	box := &profile.Toolbox{Registry: tools.NewRegistry()}
	a.Profile.Store(profile.New(agents.Config{ID: "ana", Channels: []agents.Binding{bound}}, profile.Kit{Box: box, Bound: []profile.Kit{{Box: box}}}, new(profile.Peers)))
	if r.Profile.System != "" {
		t.Error("the turn under way has changed")
	}
	if r.Refresh(); r.Profile.System != "Sell." {
		t.Errorf("got %q", r.Profile.System)
	}
	if got := (Session{Agent: a, Key: session.Key("web/dm/ann")}).WaitID("r1", run.Call{Wait: "t"}); !strings.HasPrefix(got, "ana.") {
		t.Errorf("got %q", got)
	}
}
