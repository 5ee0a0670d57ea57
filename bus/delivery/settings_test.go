package delivery_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/delivery"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What an operator of NATS changes of the consumer of a lane while hosts run, and the lane needs, is set again: a
// message whose host dies has to come again, and no lane may be held up by it.
func TestLaneSetsItsConsumerAgain(t *testing.T) {
	edits := map[string]func(*jetstream.ConsumerConfig){
		"max deliver": func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 1 },
		"ack wait":    func(c *jetstream.ConsumerConfig) { c.AckWait = 200 * time.Millisecond },
		"backoff": func(c *jetstream.ConsumerConfig) {
			c.MaxDeliver, c.BackOff = 3, []time.Duration{100 * time.Millisecond}
		},
		"max ack pending": func(c *jetstream.ConsumerConfig) { c.MaxAckPending = 1 },
		"headers only":    func(c *jetstream.ConsumerConfig) { c.HeadersOnly = true },
		"request batch":   func(c *jetstream.ConsumerConfig) { c.MaxRequestBatch = 1 },
		"request expires": func(c *jetstream.ConsumerConfig) { c.MaxRequestExpires = time.Second },
		"request bytes":   func(c *jetstream.ConsumerConfig) { c.MaxRequestMaxBytes = 10 },
		"pinned ttl":      func(c *jetstream.ConsumerConfig) { c.PinnedTTL = time.Second },
		"priority group": func(c *jetstream.ConsumerConfig) {
			c.PriorityPolicy, c.PriorityGroups, c.PinnedTTL = jetstream.PriorityPolicyNone, nil, 0
		},
		"other group": func(c *jetstream.ConsumerConfig) { c.PriorityGroups = []string{"others"} },
		"overflow": func(c *jetstream.ConsumerConfig) {
			c.PriorityPolicy = jetstream.PriorityPolicyOverflow
			c.PinnedTTL = 0
		},
		"inactive": func(c *jetstream.ConsumerConfig) { c.InactiveThreshold = time.Hour },
		"filters":  func(c *jetstream.ConsumerConfig) { c.FilterSubjects = []string{"plugin.inbound.other"} },
	}
	for name, edit := range edits {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				ns := fleet(t)
				_, js := connect(t, ns)
				one := join(t, ns, "one")
				bustest.Publish(t, js, web, "1")
				each(one.want("1"), (*delivery.Delivery).Done)
				was := consumerConfig(t, js)
				changeConsumer(t, js, edit)
				if name == "filters" { // it may have left out all since the lane was made
					each(one.want("1?"), (*delivery.Delivery).Done)
				}
				one.quiet(aWhile)
				now := consumerConfig(t, js)
				if name == "filters" { // those of others stay
					was.FilterSubjects, was.FilterSubject = []string{"plugin.inbound.other", web}, ""
				}
				now.Metadata = was.Metadata // the level that the server notes of the edit
				if diff := cmp.Diff(was, now); diff != "" {
					t.Errorf("the consumer: %s", diff)
				}
				bustest.Publish(t, js, web, "2", "3")
				each(one.want("2", "3"), (*delivery.Delivery).Done)
				one.quiet(aWhile)
			})
		})
	}
}

// What came while the filter of the consumer left it out is not lost.
func TestLaneTakesWhatAFilterHasLeftOut(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		each(one.want("1"), (*delivery.Delivery).Done)
		changeConsumer(t, js, func(c *jetstream.ConsumerConfig) { c.FilterSubjects = []string{"plugin.inbound.other"} })
		bustest.Publish(t, js, web, "2", "3")
		bustest.Publish(t, js, "plugin.inbound.other", "a")
		each(one.want("a"), (*delivery.Delivery).Done)
		each(one.want("1?", "2?", "3?", "a?"), (*delivery.Delivery).Done)
		bustest.Publish(t, js, web, "4")
		each(one.want("4"), (*delivery.Delivery).Done)
		one.quiet(aWhile)
	})
}

func consumerConfig(t *testing.T, js jetstream.JetStream) jetstream.ConsumerConfig {
	t.Helper()
	consumer, err := js.Consumer(t.Context(), bus.InboundStream, delivery.LaneName(0))
	if err != nil {
		t.Fatal(err)
	}
	return consumer.CachedInfo().Config
}

func changeConsumer(t *testing.T, js jetstream.JetStream, edit func(*jetstream.ConsumerConfig)) {
	t.Helper()
	cfg := consumerConfig(t, js)
	if cfg.FilterSubject != "" {
		cfg.FilterSubjects, cfg.FilterSubject = []string{cfg.FilterSubject}, ""
	}
	edit(&cfg)
	if _, err := js.UpdateConsumer(t.Context(), bus.InboundStream, cfg); err != nil {
		t.Fatal(err)
	}
}

// Until a consumer of headers only is set back, what it brings is read from the stream.
func TestLaneReadsWhatComesWithoutItsText(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		one := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		each(one.want("1"), (*delivery.Delivery).Done)
		changeConsumer(t, js, func(c *jetstream.ConsumerConfig) { c.HeadersOnly = true })
		bustest.Publish(t, js, web, "2", "3")
		each(one.want("2", "3"), (*delivery.Delivery).Done)
		one.quiet(aWhile)
		if consumerConfig(t, js).HeadersOnly {
			t.Error("it still brings headers only")
		}
	})
}

// Who sends the header of the server gets what was sent, and what cannot be read comes again.
func TestLaneOfMessagesThatLookLikeHeadersOnly(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		d := &door{server: ns}
		_, through := connectThrough(t, d)
		server := &mute{JetStream: through}
		one := serveLane(t, server, d, "one", 0, web)
		server.fails.Store(1)
		msg := nats.NewMsg(web)
		msg.Header.Set("Nats-Msg-Size", "7")
		if _, err := js.PublishMsg(t.Context(), msg); err != nil {
			t.Fatal(err)
		}
		bustest.Publish(t, js, web, "2")
		each(one.want("", "2"), (*delivery.Delivery).Done)
		one.quiet(aWhile)
	})
}

// A mute server fails to read so many messages of its streams.
type mute struct {
	jetstream.JetStream
	fails atomic.Int32
}

func (m *mute) Stream(ctx context.Context, name string) (jetstream.Stream, error) {
	if name == bus.InboundStream && m.fails.Add(-1) >= 0 {
		return nil, errors.New("muted")
	}
	return m.JetStream.Stream(ctx, name)
}
