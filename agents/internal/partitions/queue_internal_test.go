package partitions

import (
	"context"
	"slices"
	"sync"
	"testing"

	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"
	"agenthost/bus/records"
	"agenthost/bus/streams"
	"agenthost/internal/erasure"
	"agenthost/internal/waittest"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
)

// A lane brings what is written on plugin.inbound.web to one host of a fleet.
type lane struct {
	*delivery.Lane
	t   *testing.T
	got chan *delivery.Delivery
}

// serve starts the lane on a host.
func serve(t *testing.T, b *bus.Bus, host string) *lane {
	t.Helper()
	if err := streams.Provision(t.Context(), b.JS, 1, 4, bustest.Log(t)); err != nil {
		t.Fatal(err)
	}
	l := &lane{t: t, got: make(chan *delivery.Delivery, 100)}
	cfg := delivery.LaneConfig{Stream: bus.InboundStream, Name: delivery.LaneName(0), Filters: []string{"plugin.inbound.web"}, Host: host}
	l.Lane = delivery.NewLane(b.JS, cfg, bustest.Log(t), func(context.Context, string) {}, func(d *delivery.Delivery) { l.got <- d })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = l.Run(ctx, ctx) })
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	waittest.For(t, "the lane asks", l.Up())
	return l
}

// next are the inputs of the next deliveries, which have to be these.
func (l *lane) next(texts ...string) (items []*message.Item) {
	l.t.Helper()
	for _, text := range texts {
		d := waittest.For(l.t, "a delivery", l.got)
		if string(d.Data()) != text {
			l.t.Fatalf("%s is delivered, want %s", d.Data(), text)
		}
		items = append(items, &message.Item{Input: run.Input{ID: text}, Delivery: d})
	}
	return items
}

// partsOf counts what was handed on to the partitions of ana.
func partsOf(t *testing.T, b *bus.Bus) (n uint64) {
	t.Helper()
	for number := range 4 {
		last, err := records.NewReader(b.JS).Last(t.Context(), bus.RoutesStream, bus.PartSubject("ana", number))
		if err == nil {
			n = max(n, last.Seq)
		}
	}
	return n
}

// What waits for the layout is brought in the order in which it came.
func TestHandKeepsTheOrder(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	l, w := serve(t, b, "one"), &whole{}
	d, busy := divisionOf(t, w, 0, Layout{Generation: 1, Former: 2})
	want := []string{"1", "2", "3", "4", "5"}
	bustest.Publish(t, b.JS, "plugin.inbound.web", want...)
	for _, it := range l.next(want...) {
		d.Hand(it, "web/dm/ana")
	}
	if got := w.got(); len(got) > 0 {
		t.Errorf("%v is handed on before the former partitions are known", got)
	}
	d.Learn(1, Layout{Generation: 1, Former: 2, Settled: true})
	busy.Wait()
	if diff := cmp.Diff(want, w.got()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if len(d.queues) > 0 {
		t.Errorf("%d queues are left", len(d.queues))
	}
}

// What a lane brings again goes before newer messages that still wait from before.
func TestQueueIsInTheOrderOfTheStream(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	l := serve(t, b, "one")
	bustest.Publish(t, b.JS, "plugin.inbound.web", "1", "2", "3", "4", "5")
	items := l.next("1", "2", "3", "4", "5")
	q := &queue{}
	for _, i := range []int{2, 3, 0, 4, 1} {
		q.insert(items[i])
	}
	if !slices.Equal(q.items, items) {
		t.Errorf("the queue is not in order")
	}
	q = &queue{}
	q.insert(items[2])
	if q.begin() != items[2] {
		t.Error("the first is not begun")
	}
	q.insert(items[0])
	if got := q.takeUpTo(items[4].Delivery.Seq); !slices.Equal(got, items[:1]) || !slices.Equal(q.items, items[2:3]) {
		t.Errorf("%d are taken, %d left; want the one that is not begun", len(got), len(q.items))
	}
	q.end(false)
	q.insert(items[1])
	if got := q.begin(); got != items[1] {
		t.Error("what was not done stays before what came before it")
	}
	q = &queue{}
	q.insert(items[1])
	q.begin()
	for _, i := range []int{3, 2, 0} {
		q.insert(items[i])
	}
	if !slices.Equal(q.items, []*message.Item{items[1], items[0], items[2], items[3]}) {
		t.Error("behind what is begun the queue is not in order")
	}
}

// Two messages of a session wait: the agent itself has the first, which is not done, the
// second is for a partition. Then another host takes the lane, and the agent gives up the
// first. The second must not be handed on: it would stand before the first.
func TestNothingIsHandedOnFromALostLane(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	l, w := serve(t, b, "one"), &whole{}
	d := hostOn(t, b, 2)
	d.whole, d.known, d.layout = w, true, Layout{Generation: 1, Partitions: 2}
	const key = session.Key("web/dm/ana")
	w.set(false, key)
	bustest.Publish(t, b.JS, "plugin.inbound.web", "1", "2")
	items := l.next("1", "2")
	d.Hand(items[1], key)

	second := serve(t, b, "two")
	l.Ask(false) // as if it stood still
	waittest.Until(t, "it asks for nothing", func() bool { return !l.Asks() })
	stream, err := b.JS.Stream(t.Context(), bus.InboundStream)
	if err == nil {
		err = stream.UnpinConsumer(t.Context(), delivery.LaneName(0), "owner")
	}
	if err != nil {
		t.Fatal(err)
	}
	bustest.Publish(t, b.JS, "plugin.inbound.web", "3")
	second.next("1", "2", "3")
	if owns, err := l.Owns(t.Context()); owns || err != nil {
		t.Fatalf("it owns the lane: %t, %v", owns, err)
	}
	w.set(false)
	d.Wake()
	waittest.Until(t, "the second is left", func() bool { return l.Held() == 1 })
	if n := partsOf(t, b); n > 0 {
		t.Errorf("a message was handed on from a lane that another host serves")
	}
}

// A host that lets its lane go leaves all that waits of a session: should it have the lane
// again by the time of the second, that comes again behind the first.
func TestYieldLeavesAllOfASession(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	l, w := serve(t, b, "one"), &whole{}
	d, busy := divisionOf(t, w, 0, Layout{Generation: 1, Former: 2})
	bustest.Publish(t, b.JS, "plugin.inbound.web", "1", "2", "3")
	for _, it := range l.next("1", "2", "3") {
		d.Hand(it, "web/dm/ana")
	}
	w.set(true)
	d.Wake()
	waittest.Until(t, "all are left", func() bool { return l.Held() == 0 })
	busy.Wait()
	if got := w.got(); len(got) > 0 || len(d.queues) > 0 {
		t.Errorf("%v went on; %d queues are left", got, len(d.queues))
	}
}

// The agent's log has a later message than those that wait for a partition until the agent has
// done that: it gets them first.
func TestGather(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	l, w := serve(t, b, "one"), &whole{}
	d, busy := divisionOf(t, w, 2, Layout{Generation: 1, Partitions: 2})
	const key = session.Key("web/dm/ana")
	w.set(false, key)
	bustest.Publish(t, b.JS, "plugin.inbound.web", "1", "2", "3")
	items := l.next("1", "2", "3")
	for _, it := range items {
		d.Hand(it, key)
	}
	d.Gather(key, items[1].Delivery.Seq)
	d.Gather("web/dm/bea", items[2].Delivery.Seq)
	if diff := cmp.Diff([]string{"1", "2"}, w.got()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	d.Gather(key, items[2].Delivery.Seq)
	w.set(false)
	d.Wake()
	busy.Wait()
	if diff := cmp.Diff([]string{"1", "2", "3"}, w.got()); diff != "" || len(d.queues) > 0 {
		t.Errorf("%d queues are left; (-want +got):\n%s", len(d.queues), diff)
	}
}

// What NATS would not take in a partition, as it is too large with what is added, the agent itself
// works on; all else is done here once it is handed on.
func TestTooLargeIsNotHandedOn(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	l, w := serve(t, b, "one"), &whole{}
	d := hostOn(t, b, 2)
	d.whole, d.known, d.layout = w, true, Layout{Generation: 1, Partitions: 2, Settled: true}
	const key = session.Key("web/dm/ana")
	bustest.Publish(t, b.JS, "plugin.inbound.web", "1", "2")
	items := l.next("1", "2")
	d.Hand(items[0], key)
	waittest.Until(t, "the first is handed on", func() bool { return l.Held() == 1 })
	last := partsOf(t, b)
	d.agent.Parts.MaxPayload = 100
	d.Hand(items[1], key)
	waittest.Until(t, "the agent has the second", func() bool { return len(w.got()) > 0 })
	if n := partsOf(t, b); last == 0 || n != last || l.Held() != 1 {
		t.Errorf("partitions have up to %d, before that %d; %d are not done, want the second", n, last, l.Held())
	}
}

// What waits for a partition of a person who is erased is dropped, and what is being handed on of
// them is waited for.
func TestEraseWhatWaits(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	l, w := serve(t, b, "one"), &whole{}
	d, busy := divisionOf(t, w, 0, Layout{Generation: 1, Former: 2})
	const key = session.Key("web/group/one")
	bustest.Publish(t, b.JS, "plugin.inbound.web", "1", "2", "3", "4")
	items := l.next("1", "2", "3", "4")
	for i, it := range items {
		it.Origin = message.Origin{Subject: "plugin.inbound.web", Inbound: &bus.Inbound{From: []string{"ana", "bo", "ana", "ana"}[i]}}
		it.Input.Seq = it.Delivery.Seq
	}
	for _, it := range items[:3] {
		d.Hand(it, key)
	}
	d.agent.Parts.Erasures.Add(erasure.Order{
		Person: erasure.Person{Place: "web", From: "ana"}, UpTo: map[string]uint64{bus.InboundStream: 4},
	})
	d.Hand(items[3], key) // which came before the order, and is here only now
	d.mu.Lock()
	d.queues[key].begin()
	d.mu.Unlock()
	if d.Erase(); d.Erased() || l.Held() != 2 {
		t.Errorf("%d wait, erased: %t; want the first, which is begun, and that of bo", l.Held(), d.Erased())
	}
	d.mu.Lock()
	d.queues[key].end(false)
	d.mu.Unlock()
	if d.Erase(); !d.Erased() || l.Held() != 1 {
		t.Errorf("%d wait, erased: %t; want that of bo alone", l.Held(), d.Erased())
	}
	d.Learn(1, Layout{Generation: 1, Former: 2, Settled: true})
	busy.Wait()
	if diff := cmp.Diff([]string{"2"}, w.got()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
