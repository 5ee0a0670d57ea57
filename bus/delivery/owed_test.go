package delivery_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// What the server takes for acknowledged by mistake, as it has another leader after a reset or a
// full disk, comes again as long as no other host has had the lane.
func TestServerMiscounts(t *testing.T) {
	for name, test := range map[string]struct {
		more  bool // messages come after the mistake
		first string
	}{
		"as messages come": {true, "4"},
		"in quiet":         {false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				js, h := miscounted(t)
				got := h.want(numbers(1, 3)...)
				got[0].Done()
				got[1].Leave()
				skipped(t, h, js)
				if test.more {
					bustest.Publish(t, js, web, "4")
				}
				again := h.take(1) // 3 is held
				if d := again[0]; string(d.Data()) != "2" || !d.Tried {
					t.Fatalf("got %v, want 2?", describe(again))
				}
				synctest.Wait() // the copy of 3 has come, else it would be one of a message that is done
				again[0].Done()
				got[2].Done()
				if test.more {
					h.want("4")[0].Done()
				}
				h.quiet(aWhile)
				info := consumer(t, js)
				if stored := uint64(3 + min(len(test.first), 1)); info.NumAckPending != 0 || info.AckFloor.Stream != stored {
					t.Errorf("unacknowledged %d, floor %d, want 0, %d", info.NumAckPending, info.AckFloor.Stream, stored)
				}
			})
		})
	}
}

// A host that goes leaves to the next what the server takes for acknowledged by mistake.
func TestServerMiscountsForTheNext(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		js, h := miscounted(t)
		h.want(numbers(1, 3)...)[0].Done()
		skipped(t, h, js)
		h.stop()
		each(join(t, h.door.server, "two").want("2?~", "3?~"), (*delivery.Delivery).Done)
	})
}

// What another host has done since is not asked for again, and what was deleted once.
func TestServerCountsWell(t *testing.T) {
	for name, settle := range map[string]func(t *testing.T, js jetstream.JetStream, h *host) (again []string){
		"another host has done it": func(t *testing.T, _ jetstream.JetStream, h *host) []string {
			h.Ask(false)
			h.quiet(aWhile)
			if err := h.HandOver(t.Context()); err != nil {
				t.Fatal(err)
			}
			other := join(t, h.door.server, "two")
			each(other.want("1?", "2?", "3?"), (*delivery.Delivery).Done)
			other.flush()
			h.Ask(true)
			other.stop()
			return nil
		},
		"it was deleted": func(t *testing.T, js jetstream.JetStream, _ *host) []string {
			stream, err := js.Stream(t.Context(), bus.InboundStream)
			if err != nil {
				t.Fatal(err)
			}
			if err := stream.Purge(t.Context()); err != nil {
				t.Fatal(err)
			}
			return []string{"4?"} // as it is behind what is asked for
		},
	} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				js, h := miscounted(t)
				h.want(numbers(1, 3)...)
				again := settle(t, js, h)
				bustest.Publish(t, js, web, "4")
				h.want("4")[0].Done()
				each(h.want(again...), (*delivery.Delivery).Done)
				h.quiet(4 * aWhile)
			})
		})
	}
}

// miscounted is a host that serves a lane with three messages.
func miscounted(t *testing.T) (jetstream.JetStream, *host) {
	t.Helper()
	ns := fleet(t)
	_, js := connect(t, ns)
	h := join(t, ns, "one")
	bustest.Publish(t, js, web, numbers(1, 3)...)
	return js, h
}

// skipped has the server take all that is stored for acknowledged.
func skipped(t *testing.T, h *host, js jetstream.JetStream) {
	t.Helper()
	h.flush()
	if _, err := js.ResetConsumerToSequence(t.Context(), bus.InboundStream, delivery.LaneName(0), 4); err != nil {
		t.Fatal(err)
	}
}

// A led server says who leads the consumers, as one with replicas does.
type led struct {
	jetstream.JetStream
	leader *atomic.Value // a string
}

// joinLed starts a host of a server that is led.
func joinLed(t *testing.T, ns *server.Server, name string, leader *atomic.Value) *host {
	t.Helper()
	d := &door{server: ns}
	_, js := connectThrough(t, d)
	return serveLane(t, &led{js, leader}, d, name, 0, web)
}

type ledConsumer struct {
	jetstream.Consumer
	by *led
}

func (l *led) Consumer(ctx context.Context, stream, name string) (jetstream.Consumer, error) {
	consumer, err := l.JetStream.Consumer(ctx, stream, name)
	if err != nil {
		return nil, err
	}
	return ledConsumer{consumer, l}, nil
}

func (c ledConsumer) CachedInfo() *jetstream.ConsumerInfo {
	info := *c.Consumer.CachedInfo()
	info.Cluster = &jetstream.ClusterInfo{Leader: c.by.leader.Load().(string), Replicas: []*jetstream.PeerInfo{{Name: "other"}}}
	return &info
}

func (c ledConsumer) Info(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	if _, err := c.Consumer.Info(ctx); err != nil {
		return nil, err
	}
	return c.CachedInfo(), nil
}

// What a host had not acknowledged when it died comes to the next, also when another leader of the
// consumer has taken it for acknowledged meanwhile. Of what is done, that comes again of which no
// host has noted that it is.
func TestServerMiscountsAfterADeath(t *testing.T) {
	for name, test := range map[string]struct {
		leader string
		more   bool // came to the host that died
		want   []string
	}{
		"another leader":             {"b", false, []string{"3?", "4?", "5?", "6"}},
		"it has seen that and noted": {"b", true, []string{"4?", "5?", "6?"}},
		"the same leader":            {"a", false, []string{"6"}},
	} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				ns := fleet(t)
				_, js := connect(t, ns)
				var leader atomic.Value
				leader.Store("a")
				join := func(name string) *host { return joinLed(t, ns, name, &leader) }
				one := join("one")
				bustest.Publish(t, js, web, numbers(1, 4)...)
				got := one.want(numbers(1, 4)...)
				each(got[:2], (*delivery.Delivery).Done)
				one.quiet(aWhile + time.Second) // no look is at hand
				got[2].Done()                   // since it was noted
				bustest.Publish(t, js, web, "5")
				one.want("5")
				one.flush()
				if _, err := js.ResetConsumerToSequence(t.Context(), bus.InboundStream, delivery.LaneName(0), 6); err != nil {
					t.Fatal(err)
				}
				leader.Store(test.leader)
				if test.more {
					bustest.Publish(t, js, web, "6")
					one.want("6")
				}
				one.die()
				two := join("two")
				synctest.Wait() // it has looked at what there is
				if !test.more {
					bustest.Publish(t, js, web, "6")
				}
				each(two.want(test.want...), (*delivery.Delivery).Done)
				two.quiet(aWhile)
				if info := consumer(t, js); info.NumAckPending != 0 || info.AckFloor.Stream != 6 {
					t.Errorf("unacknowledged %d, floor %d, want 0, 6", info.NumAckPending, info.AckFloor.Stream)
				}
				bustest.Publish(t, js, web, "7")
				two.want("7")
			})
		})
	}
}

// What a host had not acknowledged when it died comes to the next also where nothing else comes:
// no message says then that another host is to take the lane over.
func TestServerMiscountsAfterADeathInQuiet(t *testing.T) {
	for name, stands := range map[string]bool{"the next host stands by": true, "the next host starts": false} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				ns := fleet(t)
				_, js := connect(t, ns)
				var leader atomic.Value
				leader.Store("a")
				one := joinLed(t, ns, "one", &leader)
				bustest.Publish(t, js, web, numbers(1, 3)...)
				one.want(numbers(1, 3)...)[0].Done()
				one.quiet(aWhile + time.Second) // it is noted
				var two *host
				if stands {
					two = joinLed(t, ns, "two", &leader)
				}
				if _, err := js.ResetConsumerToSequence(t.Context(), bus.InboundStream, delivery.LaneName(0), 4); err != nil {
					t.Fatal(err)
				}
				leader.Store("b")
				one.die()
				if !stands {
					two = joinLed(t, ns, "two", &leader)
				}
				each(two.want("2?", "3?"), (*delivery.Delivery).Done)
				two.quiet(4 * aWhile)
				if info := consumer(t, js); info.NumAckPending != 0 || info.AckFloor.Stream != 3 {
					t.Errorf("unacknowledged %d, floor %d, want 0, 3", info.NumAckPending, info.AckFloor.Stream)
				}
			})
		})
	}
}

// A host that lets a lane go notes how far it is done: another leader has nothing of that asked for
// again.
func TestNewLeaderAfterAHandover(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		var leader atomic.Value
		leader.Store("a")
		join := func(name string) *host { return joinLed(t, ns, name, &leader) }
		one := join("one")
		bustest.Publish(t, js, web, "1")
		one.want("1")[0].Done()
		one.quiet(aWhile + time.Second)
		bustest.Publish(t, js, web, "2", "3")
		each(one.want("2", "3"), (*delivery.Delivery).Done) // since it was noted
		one.flush()
		one.stop()
		leader.Store("b")
		two := join("two")
		bustest.Publish(t, js, web, "4")
		two.want("4")
		two.quiet(aWhile)
	})
}
