package engine

import (
	"context"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/internal/erasure"
)

// eraseEvery is how often it is looked whether nothing is on its way any more.
const eraseEvery = 5 * time.Millisecond

// Erase drops what is in memory of a person who is erased: nothing is answered, and what works on
// it ends. What is still to come into memory does not get there. It waits until nothing of it is on its way to
// a stream; erased is false when that is still so as ctx ends.
func (f *Fleet) Erase(ctx context.Context, o erasure.Order) (erased bool) {
	f.parts.Erasures.Add(o)
	var waits []interface{ Erased() bool }
	for _, r := range f.runtimes() {
		if o.Agent != "" && o.Agent != r.id {
			continue
		}
		if d := r.division.Load(); d != nil {
			d.Erase()
			waits = append(waits, d)
		}
		for _, p := range r.all() {
			for entry := range p.sessions.All() {
				entry.Value.Erase()
				waits = append(waits, entry.Value)
			}
		}
	}
	for _, one := range waits {
		for !one.Erased() {
			if bus.Pause(ctx, eraseEvery); ctx.Err() != nil {
				return false
			}
		}
	}
	return true
}

// isErased reports whether a delivery is of a person whom the host has to forget.
func (r *Runtime) isErased(d *delivery.Delivery) bool {
	if !r.parts.Erasures.Any() {
		return false
	}
	in, _ := bus.ReadInbound(d.Data()) // what it has will do
	return r.parts.Erasures.Holds(erasure.Message{Agent: r.id, Subject: d.Subject, Stream: d.Stream(), Seq: d.Seq, From: in.From})
}
