//go:build unix

package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// An edit is what an operator of NATS may change of a lane's consumer by mistake.
type edit struct {
	change  func(*jetstream.ConsumerConfig)
	changed func(jetstream.ConsumerConfig) bool
}

var edits = []edit{
	{func(c *jetstream.ConsumerConfig) { c.MaxDeliver = 1 }, func(c jetstream.ConsumerConfig) bool { return c.MaxDeliver == 1 }},
	{func(c *jetstream.ConsumerConfig) { c.MaxAckPending = 1 }, func(c jetstream.ConsumerConfig) bool { return c.MaxAckPending == 1 }},
	{func(c *jetstream.ConsumerConfig) { c.HeadersOnly = true }, func(c jetstream.ConsumerConfig) bool { return c.HeadersOnly }},
	{func(c *jetstream.ConsumerConfig) { c.AckWait = time.Second }, func(c jetstream.ConsumerConfig) bool { return c.AckWait == time.Second }},
}

// editLane edits the consumer of a lane, and waits until hosts have set it again.
func editLane(h *harness, d *dice) bool {
	ctx, cancel := context.WithTimeout(h.ctx, 2*time.Second)
	defer cancel()
	lane, err := h.lane(ctx, d)
	if err != nil {
		return false
	}
	consumer, err := h.js.Consumer(ctx, bus.InboundStream, lane)
	if err != nil {
		return false
	}
	made, cfg := edits[int(d.share*float64(len(edits)))], consumer.CachedInfo().Config
	made.change(&cfg)
	if _, err := h.js.UpdateConsumer(ctx, bus.InboundStream, cfg); err != nil {
		return false
	}
	h.report(h.await(h.ctx, recovers, lane+" to be set again", func(ctx context.Context) error {
		consumer, err := h.js.Consumer(ctx, bus.InboundStream, lane)
		if err == nil && made.changed(consumer.CachedInfo().Config) {
			err = errors.New("it is as the operator has left it")
		}
		return err
	}))
	return true
}

// lane is the name of one of the lanes of AGENT_INBOUND.
func (h *harness) lane(ctx context.Context, d *dice) (string, error) {
	stream, err := h.js.Stream(ctx, bus.InboundStream)
	if err != nil {
		return "", err
	}
	var lanes []string
	list := stream.ConsumerNames(ctx)
	for lane := range list.Name() {
		lanes = append(lanes, lane)
	}
	if err := list.Err(); err != nil {
		return "", err
	}
	slices.Sort(lanes)
	if len(lanes) == 0 {
		return "", errors.New("there are no lanes yet")
	}
	return lanes[d.target%len(lanes)], nil
}
