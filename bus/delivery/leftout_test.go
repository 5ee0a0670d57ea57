package delivery_test

import (
	"context"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/bus/delivery"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

const tel = "plugin.inbound.tel"

// A fleet asks once for what a filter has left out, though each of its hosts has seen that: one that
// takes the lane over later asks for nothing that is done.
func TestFleetAsksOnceForWhatAFilterHasLeftOut(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		each(one.want("1"), (*delivery.Delivery).Done)
		hosts := []*host{one, join(t, ns, "two"), join(t, ns, "three"), join(t, ns, "four")}
		done := func() []string {
			return workOff(hosts, 2*aWhile)
		}
		done()
		changeConsumer(t, js, func(c *jetstream.ConsumerConfig) { c.FilterSubjects = []string{"plugin.inbound.other"} })
		bustest.Publish(t, js, web, "2", "3")
		if diff := cmp.Diff([]string{"2", "3"}, fresh(done())); diff != "" {
			t.Errorf("what was left out: %s", diff)
		}
		for len(hosts) > 1 {
			bustest.Publish(t, js, web, "4")
			if diff := cmp.Diff([]string{"4"}, done()); diff != "" {
				t.Errorf("with %d hosts: %s", len(hosts), diff)
			}
			hosts = leave(t, hosts)
		}
	})
}

// workOff ends what any of the hosts gets within a time, and describes it.
func workOff(hosts []*host, within time.Duration) (got []string) {
	for end := time.Now().Add(within); time.Now().Before(end); time.Sleep(time.Second) {
		for _, h := range hosts {
			for len(h.got) > 0 {
				d := h.take(1)
				got = append(got, describe(d)...)
				d[0].Done()
			}
		}
	}
	return got
}

// fresh is what comes for the first time, or again with a question mark, without repeats.
func fresh(got []string) (list []string) {
	seen := map[string]bool{}
	for _, s := range got {
		if s = s[:1]; !seen[s] {
			seen[s] = true
			list = append(list, s)
		}
	}
	return list
}

// leave ends the host that serves the lane, in good order.
func leave(t *testing.T, hosts []*host) (rest []*host) {
	t.Helper()
	for _, h := range hosts {
		if h.Serving() {
			h.flush()
			h.stop()
		} else {
			rest = append(rest, h)
		}
	}
	if len(rest) != len(hosts)-1 {
		t.Fatalf("%d hosts left, of %d", len(rest), len(hosts))
	}
	return rest
}

// A host whose agents take more than those of the one that serves the lane sets that again by itself.
func TestLaneTakesWhatOnlyAStandbyHasClaimed(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		each(one.want("1"), (*delivery.Delivery).Done)
		hosts := []*host{one, join(t, ns, "two", web, tel)}
		workOff(hosts, aWhile)
		changeConsumer(t, js, func(c *jetstream.ConsumerConfig) { c.FilterSubjects = []string{web} })
		bustest.Publish(t, js, tel, "2")
		if diff := cmp.Diff([]string{"2"}, workOff(hosts, 2*aWhile)); diff != "" {
			t.Errorf("what was left out: %s", diff)
		}
		bustest.Publish(t, js, tel, "3")
		if diff := cmp.Diff([]string{"3"}, workOff(hosts, 2*aWhile)); diff != "" {
			t.Errorf("after that: %s", diff)
		}
	})
}

// A lane does without what NATS refuses to set again: hosts that start serve it, and those that run take
// more subjects.
func TestLaneDoesWithoutWhatNATSRefuses(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		each(one.want("1"), (*delivery.Delivery).Done)
		limitAckPending(t, ns, 1000)
		changeConsumer(t, js, func(c *jetstream.ConsumerConfig) { c.MaxAckPending, c.MaxDeliver = 1000, 3 })
		one.quiet(2 * aWhile)
		if cfg := consumerConfig(t, js); cfg.MaxDeliver != -1 || cfg.MaxAckPending != 1000 {
			t.Errorf("max deliver %d, max ack pending %d, want -1, 1000", cfg.MaxDeliver, cfg.MaxAckPending)
		}
		ctx, cancel := context.WithTimeout(t.Context(), aWhile)
		defer cancel()
		if err := one.Claim(ctx, []string{web, tel}); err != nil {
			t.Fatal(err)
		}
		bustest.Publish(t, js, tel, "2")
		each(one.want("2"), (*delivery.Delivery).Done)
		one.flush()
		one.stop()
		bustest.Publish(t, js, web, "3")
		two := join(t, ns, "two")
		each(two.want("3"), (*delivery.Delivery).Done)
		limitAckPending(t, ns, -1)
		two.quiet(aWhile)
		if cfg := consumerConfig(t, js); cfg.MaxAckPending <= 1000 {
			t.Errorf("max ack pending %d, want what the lane needs", cfg.MaxAckPending)
		}
	})
}

// limitAckPending has an account allow a consumer so many messages that are not acknowledged.
func limitAckPending(t *testing.T, ns *server.Server, most int) {
	t.Helper()
	err := ns.GlobalAccount().UpdateJetStreamLimits(map[string]server.JetStreamAccountLimits{"": {
		MaxMemory: -1, MaxStore: -1, MaxStreams: -1, MaxConsumers: -1, MaxAckPending: most, MemoryMaxStreamBytes: -1, StoreMaxStreamBytes: -1,
	}})
	if err != nil {
		t.Fatal(err)
	}
}
