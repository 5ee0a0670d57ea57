package delivery_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// change is an operator that has the consumer of the lane take something else than what it took. Hosts
// have looked lookDue ago.
func change(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	changeConsumer(t, js, func(c *jetstream.ConsumerConfig) { c.FilterSubjects = []string{"plugin.inbound.other"} })
	time.Sleep(time.Second) // the server is done with it
}

const lookDue = 5 * time.Second

// passedOver is a host whose lane has just passed over the messages 2 and 3, as an operator had its consumer
// take something else.
func passedOver(t *testing.T) (ns *server.Server, js jetstream.JetStream, one *host) {
	t.Helper()
	ns = fleet(t)
	_, js = connect(t, ns)
	one = join(t, ns, "one")
	bustest.Publish(t, js, web, "1")
	each(one.want("1"), (*delivery.Delivery).Done)
	one.quiet(aWhile + lookDue)
	change(t, js)
	bustest.Publish(t, js, web, "2", "3")
	bustest.Publish(t, js, "plugin.inbound.other", "a")
	each(one.want("a"), (*delivery.Delivery).Done) // so the others are passed over
	return ns, js, one
}

// A host that starts before others have looked sets the filter again, and asks for what it has left out.
func TestHostThatStartsAsksForWhatAFilterHasLeftOut(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns, js, one := passedOver(t)
		hosts := []*host{one, join(t, ns, "two")}
		if diff := cmp.Diff([]string{"2", "3"}, but("1a", fresh(workOff(hosts, 2*aWhile)))); diff != "" {
			t.Errorf("what was left out: %s", diff)
		}
		bustest.Publish(t, js, web, "4")
		if diff := cmp.Diff([]string{"4"}, workOff(hosts, 2*aWhile)); diff != "" {
			t.Errorf("after that: %s", diff)
		}
	})
}

// So does one that starts after the only host has gone, before that has looked.
func TestHostThatStartsAgainAsksForWhatAFilterHasLeftOut(t *testing.T) {
	for name, leave := range map[string]func(*host){
		"died":    (*host).die,
		"stopped": func(h *host) { h.flush(); h.stop() },
	} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				ns, _, one := passedOver(t)
				leave(one)
				again := join(t, ns, "one")
				if diff := cmp.Diff([]string{"2", "3"}, but("1a", fresh(workOff([]*host{again}, 2*aWhile)))); diff != "" {
					t.Errorf("what was left out: %s", diff)
				}
			})
		})
	}
}

// A host that starts and is not to serve the lane leaves it to the one that does.
func TestHostThatRestsHasTheOwnerAskForWhatAFilterHasLeftOut(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns, js, one := passedOver(t)
		_, through := connect(t, ns)
		two := delivery.NewLane(through, delivery.LaneConfig{Stream: bus.InboundStream, Name: delivery.LaneName(0), Filters: []string{web}, Host: "two"},
			bustest.Log(t), func(context.Context, string) {}, func(*delivery.Delivery) { t.Error("a delivery to who rests") })
		two.Ask(false)
		ctx, end := context.WithCancel(context.Background())
		done := make(chan error)
		go func() { done <- two.Run(ctx, ctx) }()
		defer func() { end(); <-done }()
		<-two.Up()
		if diff := cmp.Diff([]string{"2", "3"}, but("1a", fresh(workOff([]*host{one}, 2*aWhile)))); diff != "" {
			t.Errorf("what was left out: %s", diff)
		}
		bustest.Publish(t, js, web, "4")
		if diff := cmp.Diff([]string{"4"}, workOff([]*host{one}, 2*aWhile)); diff != "" {
			t.Errorf("after that: %s", diff)
		}
	})
}

// Nor is it lost where a host dies between setting the filter again and asking.
func TestHostThatDiesWhileItAsksForWhatAFilterHasLeftOut(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		d := &door{server: ns}
		_, through := connectThrough(t, d)
		dying := &unreset{JetStream: through}
		one := serveLane(t, dying, d, "one", 0, web)
		bustest.Publish(t, js, web, "1")
		each(one.want("1"), (*delivery.Delivery).Done)
		one.quiet(aWhile)
		dying.fails.Store(true)
		change(t, js)
		bustest.Publish(t, js, web, "2", "3")
		one.quiet(aWhile)
		if got := consumerConfig(t, js).FilterSubjects; len(got) != 2 {
			t.Fatalf("the consumer takes %q, want it set again", got)
		}
		one.die()
		two := join(t, ns, "two")
		if diff := cmp.Diff([]string{"2", "3"}, but("1a", fresh(workOff([]*host{two}, 2*aWhile)))); diff != "" {
			t.Errorf("what was left out: %s", diff)
		}
	})
}

// An unreset server resets no consumer once it fails.
type unreset struct {
	jetstream.JetStream
	fails atomic.Bool
}

func (u *unreset) ResetConsumer(ctx context.Context, stream, name string) (*jetstream.ConsumerResetResponse, error) {
	if u.fails.Load() {
		return nil, errors.New("not now")
	}
	return u.JetStream.ResetConsumer(ctx, stream, name)
}

func (u *unreset) ResetConsumerToSequence(ctx context.Context, stream, name string, seq uint64) (*jetstream.ConsumerResetResponse, error) {
	if u.fails.Load() {
		return nil, errors.New("not now")
	}
	return u.JetStream.ResetConsumerToSequence(ctx, stream, name, seq)
}

// What an agent is bound to for the first time is no matter of a filter that was changed: what was
// stored there before is not asked for.
func TestHostThatStartsAsksForNothingFromBeforeItsSubjects(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, tel, "old")
		bustest.Publish(t, js, web, "1")
		each(one.want("1"), (*delivery.Delivery).Done)
		one.quiet(aWhile)
		one.flush()
		one.stop()
		two := join(t, ns, "two", web, tel)
		two.quiet(2 * aWhile)
		bustest.Publish(t, js, tel, "2")
		each(two.want("2"), (*delivery.Delivery).Done)
	})
}

// but leaves out what has been done before, and may come again.
func but(done string, got []string) []string {
	return slices.DeleteFunc(got, func(s string) bool { return strings.Contains(done, s) })
}
