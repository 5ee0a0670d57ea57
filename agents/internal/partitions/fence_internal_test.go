package partitions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"agenthost/agents"
	"agenthost/agents/internal/finishing"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/lanes"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/bus/streams"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// hostOn is the division of an agent on one more host of a fleet, whose configuration wants so
// many partitions. It settles only by calls of settleOnce.
func hostOn(t *testing.T, b *bus.Bus, wanted int) *Division {
	t.Helper()
	p, err := publishing.New(b.NC, bustest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = p.Run(ctx) })
	t.Cleanup(running.Wait)
	t.Cleanup(cancel)
	agent := &inflight.Agent{ID: "ana", Work: t.Context(), Parts: &parts.Parts{Options: parts.Options{
		JS: b.JS, Reader: records.NewReader(b.JS), Publisher: p, MaxPayload: 1 << 20, Log: bustest.Log(t),
	}, Finishing: finishing.NewIndex(), Few: bustest.Log(t)}}
	agent.Profile.Store(&profile.Profile{Config: agents.Config{ID: "ana", Partitions: wanted}})
	d := New(agent, &running, &whole{})
	d.settling = true
	return d
}

// settleUntil has a host settle until a condition holds.
func settleUntil(t *testing.T, d *Division, what string, holds func() bool) {
	t.Helper()
	for range 20 {
		if holds() {
			return
		}
		if _, err := d.settleOnce(t.Context()); err != nil {
			t.Log(err)
		}
	}
	t.Fatalf("%s: not after twenty rounds; the layout is %+v", what, d.layout)
}

func handedOn(d *Division, number, generation, seq int) *nats.Msg {
	msg := nats.NewMsg(bus.PartSubject("ana", number))
	msg.Header.Set(nats.MsgIdHdr, d.handedOnID(generation, bus.InboundStream, uint64(seq)))
	msg.Data = fmt.Append(nil, seq)
	return msg
}

// fleetOfTwo is two hosts that have agreed on two partitions, of which the second then
// changes that to three and has sealed the former ones.
func fleetOfTwo(t *testing.T) (b *bus.Bus, before, after *Division) {
	t.Helper()
	b = bustest.Open(t)
	if err := streams.Provision(t.Context(), b.JS, 1, 4, bustest.Log(t)); err != nil {
		t.Fatal(err)
	}
	before, after = hostOn(t, b, 2), hostOn(t, b, 3)
	settleUntil(t, before, "there are two", func() bool { return before.known && before.layout.Partitions == 2 && before.layout.Settled })
	if err := before.store(t.Context(), 1, before.layout.Generation, handedOn(before, 1, before.layout.Generation, 1)); err != nil {
		t.Fatal(err)
	}
	settleUntil(t, after, "the former ones are known", func() bool { return after.targets != nil })
	return b, before, after
}

// A host that stood still while another changed the partitions cannot hand anything on by the
// former layout: the next owner has taken what was there for all there is.
func TestFormerLayoutIsRefused(t *testing.T) {
	t.Parallel()
	b, before, after := fleetOfTwo(t)
	for number := range 2 {
		if err := before.store(t.Context(), number, 1, handedOn(before, number, 1, 2)); !errors.Is(err, errLaterLayout) {
			t.Errorf("partition %d: got %v, want %v", number, err, errLaterLayout)
		}
		if end, err := before.seal(t.Context(), number, 1); !errors.Is(err, errLaterLayout) {
			t.Errorf("partition %d is sealed at %d, %v, want %v", number, end, err, errLaterLayout)
		}
		last, err := records.NewReader(b.JS).Last(t.Context(), bus.RoutesStream, bus.PartSubject("ana", number))
		if err != nil || last.Seq != after.targets[number] {
			t.Errorf("partition %d ends with %+v, %v; want a seal at %d", number, last, err, after.targets[number])
		}
	}
	settleUntil(t, before, "it knows the layout", func() bool { return before.known && before.layout.Generation == after.layout.Generation })
	if err := before.store(t.Context(), 0, 2, handedOn(before, 0, 2, 2)); err != nil {
		t.Errorf("by the layout of now: %v", err)
	}
}

// A former partition is done when all up to its seal is acknowledged, whatever is waiting
// according to a copy that is behind.
func TestFormerPartitionIsDone(t *testing.T) {
	t.Parallel()
	b, _, after := fleetOfTwo(t)
	lane, err := b.JS.CreateConsumer(t.Context(), bus.RoutesStream, jetstream.ConsumerConfig{
		Durable: lanes.PartitionLane("ana", 1), AckPolicy: jetstream.AckExplicitPolicy, FilterSubjects: []string{bus.PartSubject("ana", 1)},
	})
	if err != nil {
		t.Fatal(err)
	}
	for want := range 2 {
		if done, err := after.isDone(t.Context(), 1, after.targets[1]); done || err != nil {
			t.Errorf("%d of 2 acknowledged: done %t, %v", want, done, err)
		}
		m, err := lane.Next()
		if err != nil {
			t.Fatal(err)
		}
		if err := m.DoubleAck(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if done, err := after.isDone(t.Context(), 1, after.targets[1]); !done || err != nil {
		t.Errorf("all acknowledged: done %t, %v", done, err)
	}
	if done, err := after.formerDone(t.Context(), after.layout); done || err != nil || len(after.targets) != 1 {
		t.Errorf("the other has no lane yet: done %t, %v; %v is to be done", done, err, after.targets)
	}
	var seqs []uint64
	for seq := range 2 {
		ack, err := b.JS.PublishMsg(t.Context(), handedOn(after, 1, 2, 3+seq))
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, ack.Sequence)
	}
	stream, err := b.JS.Stream(t.Context(), bus.RoutesStream)
	if err != nil {
		t.Fatal(err)
	}
	if done, err := after.isDone(t.Context(), 1, seqs[1]); done || err != nil {
		t.Errorf("two more: done %t, %v", done, err)
	}
	for i, seq := range []uint64{seqs[1], seqs[0]} { // the last first: the one before it waits
		if err := stream.DeleteMsg(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
		if done, err := after.isDone(t.Context(), 1, seqs[1]); done != (i == 1) || err != nil {
			t.Errorf("%d of them deleted: done %t, %v", i+1, done, err)
		}
	}
	unseen, err := b.JS.PublishMsg(t.Context(), handedOn(after, 0, 2, 5)) // the copy that the lane reads does not have it
	if err != nil {
		t.Fatal(err)
	}
	if done, err := after.isDone(t.Context(), 1, unseen.Sequence); done || err != nil {
		t.Errorf("nothing is waiting, and one is not acknowledged: done %t, %v", done, err)
	}
}

// A host whose record another has changed reads that, and goes on from it.
func TestRecordThatAnotherHostHasChanged(t *testing.T) {
	t.Parallel()
	_, before, after := fleetOfTwo(t)
	before.agent.Profile.Store(&profile.Profile{Config: agents.Config{ID: "ana", Partitions: 4}})
	if done, err := before.settleOnce(t.Context()); done || !records.Overtaken(err) {
		t.Errorf("done %t, %v, want that another was first", done, err)
	}
	settleUntil(t, before, "it knows the layout", func() bool { return before.known && before.layout.Generation == after.layout.Generation })
}

// Without the record, with one that cannot be read, or with messages that only look like those of a
// later layout, the hosts agree on a layout beyond all that they have met.
func TestLostRecord(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(kv jetstream.KeyValue, key string) error{
		"purged": func(kv jetstream.KeyValue, key string) error { return kv.Purge(t.Context(), key) },
		"unreadable": func(kv jetstream.KeyValue, key string) error {
			_, err := kv.PutString(t.Context(), key, `{"partitions":"many"}`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testLostRecord(t, lose)
		})
	}
}

func testLostRecord(t *testing.T, lose func(kv jetstream.KeyValue, key string) error) {
	b, _, after := fleetOfTwo(t)
	kv, err := b.JS.KeyValue(t.Context(), bus.LanesBucket)
	if err != nil {
		t.Fatal(err)
	}
	if err := lose(kv, lanes.LayoutKey("ana")); err != nil {
		t.Fatal(err)
	}
	d := hostOn(t, b, 2)
	settleUntil(t, d, "there are two", func() bool { return d.known && d.layout.Partitions == 2 })
	if err := d.store(t.Context(), 0, d.layout.Generation, handedOn(d, 0, d.layout.Generation, 9)); !errors.Is(err, errLaterLayout) {
		t.Fatalf("got %v, want %v", err, errLaterLayout)
	}
	settleUntil(t, d, "a later layout", func() bool { return d.known && d.layout.Generation > after.layout.Generation })
	if err := d.store(t.Context(), 0, d.layout.Generation, handedOn(d, 0, d.layout.Generation, 9)); err != nil {
		t.Error(err)
	}
	entry, err := kv.Get(t.Context(), lanes.LayoutKey("ana"))
	if err != nil {
		t.Fatal(err)
	}
	var l Layout
	if err := json.Unmarshal(entry.Value(), &l); err != nil || l != d.layout {
		t.Errorf("the record has %s, %v; want %+v", entry.Value(), err, d.layout)
	}
}

func TestGenerationOf(t *testing.T) {
	t.Parallel()
	d := New(&inflight.Agent{ID: "ana"}, &sync.WaitGroup{}, &whole{})
	for id, want := range map[string]int{
		d.handedOnID(7, bus.InboundStream, 12): 7, "part.ana.3.seal.0": 3,
		"": 0, "part.ana.": 0, "part.ana.x.y.1": 0, "part.bob.3.seal.0": 0, "something.else": 0, "part.ana.-4.s.1": 0,
	} {
		if got := d.generationOf(id); got != want {
			t.Errorf("%q: got %d, want %d", id, got, want)
		}
	}
}
