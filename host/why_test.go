package host_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"
	"agenthost/internal/why"
	"agenthost/plugins"
	"agenthost/plugins/settings"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// way is the way of an id by now, in words.
func way(t *testing.T, h *host.Host, id string) why.Way {
	t.Helper()
	w, err := why.Find(t.Context(), h.Bus().JS, id, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(w.Steps, func(a, b why.Step) int { return a.At.Compare(b.At) }) {
		t.Errorf("the steps of %s are not in order of time: %+v", id, w.Steps)
	}
	return w
}

func steps(w why.Way) string {
	var list []string
	for _, step := range w.Steps {
		list = append(list, step.What)
	}
	return strings.Join(list, ", ")
}

func TestWhyAnswered(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{}))
	write(t, h, "ana", "m1", "m2")
	waittest.Until(t, "two replies", func() bool { return stored(t, h, bus.OutboundStream) == 2 })
	allDone(t, h, 2)
	reply := published(t, h)[0]
	for id, kind := range map[string]string{"m1": why.Inbound, reply.ID: why.Outbound, reply.Run: why.Run} {
		w := way(t, h, id)
		if w.ID != id || w.Kind != kind || w.State != why.Answered {
			t.Errorf("%s: got %s %s, want %s %s", id, w.Kind, w.State, kind, why.Answered)
		}
		got := steps(w)
		for _, what := range []string{why.Accepted, why.Started, why.Called, why.Replied, why.Published, why.Ended} {
			if strings.Count(got, what) != 1 {
				t.Errorf("%s: got %s, want %s once", id, got, what)
			}
		}
		for _, step := range w.Steps {
			if step.ID == "m2" {
				t.Errorf("%s: the way has another message: %+v", id, step)
			}
			if step.What == why.Started && (step.Host == "" || step.Agent != "demo" || step.Session != "demo/dm/ana" || step.Run != reply.Run) {
				t.Errorf("%s: got %+v", id, step)
			}
		}
	}
	if _, err := why.Find(t.Context(), h.Bus().JS, "m3", nil); !errors.Is(err, why.ErrUnknown) {
		t.Errorf("an id that nothing has: %v", err)
	}
}

// A fork has a copy of the runs of another session, which is no part of their way.
func TestWhyAfterFork(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{}))
	write(t, h, "ana", "m1")
	waittest.Until(t, "a reply", func() bool { return stored(t, h, bus.OutboundStream) == 1 })
	allDone(t, h, 1)
	reply := published(t, h)[0]
	before := map[string]why.Way{}
	for _, id := range []string{"m1", reply.ID, reply.Run} {
		before[id] = way(t, h, id)
	}
	sessions := clientOf(h).Sessions()
	for _, b := range []client.Branching{{Session: "demo/dm/ana", To: "demo/dm/fork"}, {Session: "demo/dm/fork", To: "demo/dm/again"}} {
		b.Agent = "demo"
		if _, err := sessions.Fork(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	write(t, h, "fork", "m2")
	waittest.Until(t, "a reply in the fork", func() bool { return stored(t, h, bus.OutboundStream) == 2 })
	for id, want := range before {
		if diff := cmp.Diff(want, way(t, h, id)); diff != "" {
			t.Errorf("%s after forks: (-want +got)\n%s", id, diff)
		}
	}
	if w := way(t, h, "m2"); !strings.Contains(steps(w), why.Ended) {
		t.Errorf("a run of the fork itself: got %s", steps(w))
	}
}

// Each run is of the host that has begun it, whoever serves the agent by now.
func TestWhyAfterTakeover(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	join := func(name string) (*host.Host, func()) {
		cfg := bound(t, agents.Binding{})
		cfg.NATS.URL, cfg.HTTP.Listen = url, ""
		return startNamed(t, cfg, name)
	}
	answer := func(h *host.Host, id string, n uint64) {
		write(t, h, "ana", id)
		waittest.Until(t, "an answer to "+id, func() bool { return stored(t, h, bus.OutboundStream) == n })
	}
	blue, stop := join("blue")
	answer(blue, "m1", 1)
	stop()
	green, _ := join("green")
	answer(green, "m2", 2)
	for id, want := range map[string]string{"m1": "blue", "m2": "green"} {
		waittest.Until(t, "the host of "+id, func() bool { return startedBy(t, green, id) != "" })
		if got := startedBy(t, green, id); got != want {
			t.Errorf("%s: got host %s, want %s", id, got, want)
		}
	}
	events, err := green.Bus().JS.Stream(t.Context(), bus.EventsStream)
	if err == nil {
		err = events.Purge(t.Context(), jetstream.WithPurgeSubject(bus.EventsPrefix+"demo.takeover"))
	}
	if got := startedBy(t, green, "m1"); got != "" || err != nil {
		t.Errorf("without a takeover: got host %q, %v", got, err)
	}
}

// startedBy is the host that the way of an id names.
func startedBy(t *testing.T, h *host.Host, id string) string {
	t.Helper()
	for _, step := range way(t, h, id).Steps {
		if step.What == why.Started {
			return step.Host
		}
	}
	return ""
}

// A reply waits until the consumer of its channel has acknowledged it; each consumer is
// named. What NATS keeps is enough: no host needs to run.
func TestWhyDelivered(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	cfg := bound(t, agents.Binding{})
	cfg.NATS.URL, cfg.HTTP.Listen = url, ""
	h, stop := start(t, cfg)
	write(t, h, "ana", "m1")
	waittest.Until(t, "a reply", func() bool { return stored(t, h, bus.OutboundStream) == 1 })
	allDone(t, h, 1)
	reply := published(t, h)[0]
	stop()

	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	deliveries := func() map[string]string {
		t.Helper()
		w, err := why.Find(t.Context(), js, "m1", nil)
		if err != nil {
			t.Fatal(err)
		}
		if w.State != why.Answered {
			t.Errorf("got state %s, want %s", w.State, why.Answered)
		}
		list := map[string]string{}
		for _, step := range w.Steps {
			if step.What == why.Pending || step.What == why.Delivered {
				detail, _, _ := strings.Cut(step.Detail, " 2") // the time
				list[step.Name] = strings.TrimSpace(step.What + " " + detail)
				if step.ID != reply.ID || step.Subject != "plugin.outbound.demo" {
					t.Errorf("got %+v", step)
				}
			}
		}
		return list
	}
	want := func(want map[string]string) {
		t.Helper()
		if diff := cmp.Diff(want, deliveries()); diff != "" {
			t.Errorf("deliveries (-want +got):\n%s", diff)
		}
	}
	want(map[string]string{})
	consumers := map[string]jetstream.Consumer{}
	for name, subject := range map[string]string{"plugin-demo": "plugin.outbound.demo", "books": "plugin.outbound.>", "plugin-web": "plugin.outbound.web"} {
		consumers[name], err = js.CreateConsumer(t.Context(), bus.OutboundStream, jetstream.ConsumerConfig{
			Durable: name, FilterSubject: subject, AckPolicy: jetstream.AckExplicitPolicy,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	want(map[string]string{"plugin-demo": "not delivered yet 1 wait", "books": "not delivered yet 1 wait"})
	take(t, consumers["plugin-demo"])
	want(map[string]string{"plugin-demo": "delivered by", "books": "not delivered yet 1 wait"})
	take(t, consumers["books"])
	want(map[string]string{"plugin-demo": "delivered by", "books": "delivered by"})
}

// A hanging is a channel whose platform takes some replies at once, some not until it goes on,
// and some never.
type hanging struct {
	*pager
	goOn chan struct{}
}

func (h hanging) Run(ctx context.Context, in *plugins.Inbox) error {
	in.Connected("night")
	<-ctx.Done()
	return nil
}

func (h hanging) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	switch m.Reply.Text {
	case "hang":
		select {
		case <-h.goOn:
		case <-ctx.Done():
			return "", ctx.Err()
		}
	case "never":
		return "", plugins.Permanent(errors.New("chat not found"))
	}
	return m.Key, nil
}

// A reply is delivered once its channel says so, also while an older one hangs, and not when
// that has ended.
func TestWhyDeliveredBehindOneThatHangs(t *testing.T) {
	t.Parallel()
	cfg := bound(t, agents.Binding{})
	cfg.Agents[0].Channels = []agents.Binding{{Channel: "pager", Instance: "night"}}
	cfg.Plugins.Own = map[string]map[string]settings.Own{"pager": {"night": {}}}
	channel := hanging{&pager{}, make(chan struct{})}
	h := startWith(t, host.Options{Config: cfg, Log: hosttest.Log(t), Channels: map[string]plugins.Maker{
		"pager": func(map[string]any) (plugins.Channel, error) { return channel, nil },
	}})
	last := func(id string) (step why.Step, all string) {
		w, err := why.Find(t.Context(), h.Bus().JS, id, nil)
		if err != nil {
			return why.Step{}, err.Error()
		}
		return w.Steps[len(w.Steps)-1], steps(w)
	}
	ends := func(id, what string) {
		t.Helper()
		waittest.Until(t, id+" is "+what, func() bool { step, _ := last(id); return step.What == what })
	}
	publish(t, h.Bus().NC, "plugin.inbound.pager.night", bus.Inbound{ID: "hang", From: "h1", Text: "hang"})
	ends("hang", why.Pending)
	publish(t, h.Bus().NC, "plugin.inbound.pager.night", bus.Inbound{ID: "other", From: "h2", Text: "other"})
	ends("other", why.Delivered)
	publish(t, h.Bus().NC, "plugin.inbound.pager.night", bus.Inbound{ID: "never", From: "h3", Text: "never"})
	ends("never", why.DeadLike)
	if _, all := last("never"); strings.Contains(all, why.Pending) {
		t.Errorf("a reply that is given up: got %s", all)
	}
	step, _ := last("hang")
	if step.What != why.Pending || step.Name != "plugin-pager-night" || step.Detail != "1 wait" {
		t.Errorf("the one that hangs: got %+v", step)
	}
	before, _ := last("other")
	close(channel.goOn)
	ends("hang", why.Delivered)
	end, _ := last("hang")
	if after, _ := last("other"); after != before || !after.At.Before(end.At) || after.Detail != "" {
		t.Errorf("got %+v, before the end of the other %+v", after, before)
	}
}

// take acknowledges the next message of a consumer.
func take(t *testing.T, c jetstream.Consumer) {
	t.Helper()
	msg, err := c.Next(jetstream.FetchMaxWait(10 * time.Second))
	if err == nil {
		err = msg.DoubleAck(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A reply that its channel has given up is dead, and so is what became of the message.
func TestWhyDeadReply(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{}))
	write(t, h, "ana", "m1", "m2")
	waittest.Until(t, "two replies", func() bool { return stored(t, h, bus.OutboundStream) == 2 })
	allDone(t, h, 2)
	reply := published(t, h)[0]
	publishDead(t, h.Bus().NC, bus.DeadLetter{
		ID: reply.ID, Agent: "demo", Code: "undeliverable", Reason: "chat not found", Subject: "plugin.outbound.demo", Stream: bus.OutboundStream, Seq: 1, At: time.Now(),
	})
	waittest.Until(t, "a dead letter", func() bool { return stored(t, h, bus.DeadStream) == 1 })
	for id, state := range map[string]string{reply.InReplyTo: why.Dead, reply.ID: why.Dead, published(t, h)[1].ID: why.Answered} {
		w := way(t, h, id)
		if w.State != state {
			t.Errorf("%s: got %s, want %s; %s", id, w.State, state, steps(w))
		}
		last := w.Steps[len(w.Steps)-1]
		if state == why.Dead && (last.What != why.DeadLike || last.Detail != "undeliverable chat not found" || last.ID != reply.ID || last.Subject != "plugin.outbound.demo") {
			t.Errorf("%s: got %+v", id, last)
		}
	}
}

// What a plugin has given up it acknowledges as what it has delivered: the dead letter tells
// the two apart, also after the reply was sent again.
func TestWhyDeadReplyIsNotDelivered(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{}))
	js := h.Bus().JS
	write(t, h, "ana", "m1")
	waittest.Until(t, "a reply", func() bool { return stored(t, h, bus.OutboundStream) == 1 })
	allDone(t, h, 1)
	plugin, err := js.CreateConsumer(t.Context(), bus.OutboundStream, jetstream.ConsumerConfig{
		Durable: "plugin-demo", FilterSubject: "plugin.outbound.demo", AckPolicy: jetstream.AckExplicitPolicy,
	})
	if err != nil {
		t.Fatal(err)
	}
	refuse := func() {
		t.Helper()
		giveUp(t, h, plugin)
		if w := way(t, h, "m1"); w.State != why.Dead || strings.Contains(steps(w), ", "+why.Delivered) || w.Steps[len(w.Steps)-1].What != why.DeadLike {
			t.Errorf("refused: got %s; %s", w.State, steps(w))
		}
	}
	again := func() {
		t.Helper()
		letters, err := clientOf(h).DeadLetters(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list, err := letters.All(t.Context(), "demo")
		if err != nil || len(list) != 1 {
			t.Fatalf("got %+v, %v, want one letter", list, err)
		}
		if _, err := letters.Retry(t.Context(), list[0]); err != nil {
			t.Fatal(err)
		}
		if w := way(t, h, "m1"); w.State != why.Answered || w.Steps[len(w.Steps)-1].What != why.Pending || !strings.Contains(steps(w), why.SentAgain) || strings.Contains(steps(w), ", "+why.Delivered) {
			t.Errorf("sent again: got %s; %s", w.State, steps(w))
		}
	}
	refuse()
	again()
	refuse()
	again()
	take(t, plugin)
	if w := way(t, h, "m1"); w.State != why.Answered || w.Steps[len(w.Steps)-1].What != why.Delivered || strings.Count(steps(w), why.SentAgain) != 2 {
		t.Errorf("delivered at last: got %s; %s", w.State, steps(w))
	}
}

// giveUp does what a plugin does with a reply that its platform refuses for good.
func giveUp(t *testing.T, h *host.Host, plugin jetstream.Consumer) {
	t.Helper()
	msg, err := plugin.Next(jetstream.FetchMaxWait(10 * time.Second))
	if err != nil {
		t.Fatal(err)
	}
	meta, err := msg.Metadata()
	if err != nil {
		t.Fatal(err)
	}
	dead := stored(t, h, bus.DeadStream)
	publishDead(t, h.Bus().NC, bus.DeadLetter{
		ID:    fmt.Sprintf("dead:demo:%s:%d", bus.OutboundStream, meta.Sequence.Stream),
		Agent: "demo", Code: "undeliverable", Reason: "chat not found", Subject: msg.Subject(), Stream: bus.OutboundStream,
		Seq: meta.Sequence.Stream, Attempts: 1, At: time.Now(), Payload: string(msg.Data()),
	})
	waittest.Until(t, "a dead letter", func() bool { return stored(t, h, bus.DeadStream) == dead+1 })
	if err := msg.DoubleAck(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestWhyMerged(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{Queue: session.Collect, Debounce: time.Second}))
	write(t, h, "ana", "m1", "m2")
	waittest.Until(t, "a reply", func() bool { return stored(t, h, bus.OutboundStream) == 1 })
	allDone(t, h, 2)
	for id, state := range map[string]string{"m1": why.Merged, "m2": why.Answered} {
		if w := way(t, h, id); w.State != state || w.Kind != why.Inbound {
			t.Errorf("%s: got %s %s, want %s", id, w.Kind, w.State, state)
		}
	}
}

func TestWhyWaiting(t *testing.T) {
	t.Parallel()
	cfg := scripted(t, `rules: [{is: ask, tool_calls: [{name: ask_human, args: {question: "Which colour?"}}]}, {text: "${text}${result}"}]`)
	cfg.Agents[0].Tools = []string{"ask_human"}
	h, _ := start(t, cfg)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m1", From: "ana", Text: "ask"})
	waittest.Until(t, "a question", func() bool { return stored(t, h, bus.OutboundStream) == 1 })
	question := published(t, h)[0]
	for id, kind := range map[string]string{"m1": why.Inbound, question.Call: why.Call, question.Run: why.Run} {
		waittest.Until(t, id+" waits", func() bool { return way(t, h, id).State == why.Waiting })
		if w := way(t, h, id); w.Kind != kind || !strings.Contains(steps(w), why.Asked+", ") {
			t.Errorf("%s: got %s, %s", id, w.Kind, steps(w))
		}
	}
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m2", From: "ana", Text: "blue", Answers: question.Call})
	waittest.Until(t, "m1 is answered", func() bool { return way(t, h, "m1").State == why.Answered })
	if got := steps(way(t, h, "m1")); !strings.Contains(got, why.Settled) {
		t.Errorf("got %s", got)
	}
}

// What no host has taken yet waits, and so does what its sender may not write: that is
// answered beside any session. A message that cannot be read is dead.
func TestWhyWithoutSession(t *testing.T) {
	t.Parallel()
	cfg := bound(t, agents.Binding{Senders: agents.Senders{Allow: []string{"ana"}}})
	h, _ := start(t, cfg)
	publish(t, h.Bus().NC, "plugin.inbound.elsewhere", bus.Inbound{ID: "nobody", From: "ana", Text: "hi"})
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "stranger", From: "eve", Text: "hi"})
	long := strings.Repeat("x", 300)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: long, From: "ana", Text: "hi"})
	waittest.Until(t, "a dead letter and two answers", func() bool {
		return stored(t, h, bus.DeadStream) == 1 && stored(t, h, bus.OutboundStream) == 2
	})
	for id, state := range map[string]string{"nobody": why.Waiting, "stranger": why.Answered, long: why.Dead} {
		if w := way(t, h, id); w.State != state || w.Kind != why.Inbound {
			t.Errorf("%.20s: got %s %s, want %s; %s", id, w.Kind, w.State, state, steps(w))
		}
	}
	letter := fmt.Sprintf("dead:demo:%s:3", bus.InboundStream)
	if w := way(t, h, letter); w.State != why.Dead {
		t.Errorf("%s: got %+v", letter, w)
	}
}

// A message that was acknowledged without a run and without an answer does not count as waiting.
func TestWhyTakenByNoRun(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{Senders: agents.Senders{Allow: []string{"ana"}, Deny: []string{"bob"}}}))
	write(t, h, "eve", "e1")
	waittest.Until(t, "a notice", func() bool { return stored(t, h, bus.OutboundStream) == 1 })
	write(t, h, "eve", "e2")
	write(t, h, "bob", "b1")
	write(t, h, "ana", "a1")
	waittest.Until(t, "a reply", func() bool { return stored(t, h, bus.OutboundStream) == 2 })
	allDone(t, h, 4)
	for id, want := range map[string]string{"e1": why.Answered, "e2": why.Dead, "b1": why.Dead, "a1": why.Answered} {
		if w := way(t, h, id); w.State != want || strings.Contains(steps(w), why.NotTaken) != (want == why.Dead) {
			t.Errorf("%s: got %s, want %s; %s", id, w.State, want, steps(w))
		}
	}
	for id, words := range map[string]string{
		"e2": "its sender may not write to the agent; told in demo:AGENT_INBOUND:1:stranger.1", "b1": "perhaps its sender may not write",
	} {
		if detail := way(t, h, id).Steps[1].Detail; !strings.Contains(detail, words) {
			t.Errorf("%s: got %q, want it to say %q", id, detail, words)
		}
	}
}

// What was begun is sent again under another id: the way goes on with that.
func TestWhySentAgain(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{}))
	write(t, h, "ana", "m1")
	allDone(t, h, 1)
	publishDead(t, h.Bus().NC, bus.DeadLetter{
		ID: "dead:demo:AGENT_INBOUND:1", Agent: "demo", Code: "internal", Subject: "plugin.inbound.demo", Stream: bus.InboundStream, Seq: 1,
		Attempts: 5, At: time.Now(), Payload: `{"id":"m1","from":"ana","text":"m1"}`,
	})
	waittest.Until(t, "m1 is dead", func() bool { return way(t, h, "m1").State == why.Dead })
	letters, err := clientOf(h).DeadLetters(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	letter, err := letters.Find(t.Context(), "dead:demo:AGENT_INBOUND:1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := letters.Retry(t.Context(), letter); err != nil {
		t.Fatal(err)
	}
	allDone(t, h, 2)
	w := way(t, h, "m1")
	if got := steps(w); w.State != why.Answered || strings.Count(got, why.SentAgain) != 1 || strings.Count(got, why.Started) != 2 || strings.Count(got, why.Accepted) != 2 {
		t.Errorf("got %s; %s", w.State, got)
	}
}

// A message goes by the id of its envelope; that of its publication means the same one.
func TestWhyByTheIDOfThePublication(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{Senders: agents.Senders{Deny: []string{"bob"}}}))
	for _, from := range []string{"ana", "bob"} {
		msg, err := bus.NewMessage("plugin.inbound.demo", bus.Inbound{ID: "of " + from, From: from, Text: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		msg.Header.Set(nats.MsgIdHdr, "published by "+from)
		if err := h.Bus().NC.PublishMsg(msg); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.Bus().NC.Publish("plugin.inbound.demo", []byte(`{"from":"bob","text":"hi"}`)); err != nil {
		t.Fatal(err)
	}
	allDone(t, h, 3)
	for id, state := range map[string]string{"published by ana": why.Answered, "published by bob": why.Dead, bus.InboundStream + ":3": why.Dead} {
		if w := way(t, h, id); w.ID != id || w.State != state || w.Kind != why.Inbound {
			t.Errorf("%s: got %s %s %s, want %s; %s", id, w.ID, w.Kind, w.State, state, steps(w))
		}
	}
}

// Two messages that are each published under the id of the other have each its way.
func TestWhyOfIDsThatCross(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{}))
	for id, name := range map[string]string{"a": "b", "b": "a"} {
		msg, err := bus.NewMessage("plugin.inbound.demo", bus.Inbound{ID: id, From: "ana", Text: "hi"})
		if err != nil {
			t.Fatal(err)
		}
		msg.Header.Set(nats.MsgIdHdr, name)
		if err := h.Bus().NC.PublishMsg(msg); err != nil {
			t.Fatal(err)
		}
	}
	allDone(t, h, 2)
	if w := way(t, h, "a"); w.State != why.Answered {
		t.Errorf("got %s; %s", w.State, steps(w))
	}
}

// An answer to a question is in the log without being an input of a run: it is no dead message.
func TestWhyAnAnswer(t *testing.T) {
	t.Parallel()
	cfg := scripted(t, `rules: [{is: ask, tool_calls: [{name: ask_human, args: {question: "Which colour?"}}]}, {text: "${text}${result}"}]`)
	cfg.Agents[0].Tools = []string{"ask_human"}
	h, _ := start(t, cfg)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m1", From: "ana", Text: "ask"})
	waittest.Until(t, "a question", func() bool { return stored(t, h, bus.OutboundStream) == 1 })
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m2", From: "ana", Text: "blue"})
	allDone(t, h, 2)
	if w := way(t, h, "m2"); w.State != why.Answered {
		t.Errorf("got %s; %s", w.State, steps(w))
	}
}

// A reply that could not be published is a dead letter, also where that has no room for it.
func TestWhyUnpublishedReply(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{}))
	write(t, h, "ana", "m1")
	waittest.Until(t, "a reply", func() bool { return stored(t, h, bus.OutboundStream) == 1 })
	allDone(t, h, 1)
	reply := published(t, h)[0]
	outbound, err := h.Bus().JS.Stream(t.Context(), bus.OutboundStream)
	if err == nil {
		err = outbound.Purge(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	publishDead(t, h.Bus().NC, bus.DeadLetter{
		ID: bus.UnpublishedID(reply.ID), Agent: "demo", Reason: "reply cannot be published: nats: maximum payload exceeded", Code: "internal",
		Subject: "plugin.outbound.demo", Stream: bus.OutboundStream, Omitted: true,
	})
	waittest.Until(t, "a dead letter", func() bool { return stored(t, h, bus.DeadStream) == 1 })
	for _, id := range []string{"m1", reply.ID, reply.Run} {
		if w := way(t, h, id); w.State != why.Dead || w.Steps[len(w.Steps)-1].What != why.DeadLike {
			t.Errorf("%s: got %s: %s", id, w.State, steps(w))
		}
	}
}
