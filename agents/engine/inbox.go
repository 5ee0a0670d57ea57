package engine

import (
	"context"

	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/session"
)

// inboxSize lets a lane go on while an agent decodes. All agents have an inbox,
// most of them nothing in it.
const inboxSize = 32

func (r *Runtime) receive(ctx context.Context) {
	retired := r.shared.Retired
	if r.whole != nil { // what was handed on to it before is still to be answered
		retired = nil
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-retired:
			return
		case d := <-r.inbox:
			r.sweep()
			r.accept(d)
		case then := <-r.marks:
			r.acceptInbox()
			then()
		}
	}
}

// Offer hands d to the agent, unless it takes nothing more.
func (r *Runtime) Offer(d *delivery.Delivery) {
	select {
	case r.inbox <- d:
	case <-r.closed:
		d.Leave()
		return
	}
	select {
	case <-r.closed: // and what the inbox had may have been left already
		r.leaveInbox()
	default:
	}
}

// acceptInbox accepts all that is in the inbox.
func (r *Runtime) acceptInbox() {
	for len(r.inbox) > 0 {
		r.accept(<-r.inbox)
	}
}

// AfterInbox has then called once all that was offered by now is accepted, and what it has of
// a session up to a sequence is queued there, unless the agent stops before that.
func (r *Runtime) AfterInbox(key session.Key, upTo uint64, then func()) {
	r.shared.Busy.Go(func() {
		mark := func() {
			if d := r.division.Load(); d != nil && r.whole == nil {
				d.Gather(key, upTo)
			}
			then()
		}
		select {
		case r.marks <- mark:
		case <-r.closed:
		}
	})
}

// Welcomes reports whether the agent takes messages of who has sent d.
func (r *Runtime) Welcomes(d *delivery.Delivery) bool { return r.shared.Intake.Welcomes(d) }

// accept queues a delivery with its conversation. It waits for nothing: all agents
// of the lane would wait with it.
func (r *Runtime) accept(d *delivery.Delivery) {
	if d.LeaveIfLost() {
		return
	}
	if r.isErased(d) {
		d.Done()
		return
	}
	it := r.shared.Intake.Decode(d)
	if it == nil {
		return
	}
	if r.whole != nil {
		r.acceptHandedOn(it)
		return
	}
	if r.isForAnother(it) {
		d.Done()
		return
	}
	if !r.shared.Intake.Admits(it) {
		return
	}
	switch {
	case r.parts.Beat != nil && it.IsTick():
		r.enqueueTick(it)
	case !r.shared.Intake.Timely(it):
		d.Done()
	case it.Interjects():
		r.shared.Busy.Go(func() { r.deliverAnswer(it) })
	default:
		r.enqueue(it)
	}
}

// acceptHandedOn is accept in a partition, of what the agent has accepted.
func (r *Runtime) acceptHandedOn(it *message.Item) {
	it.NotBefore, it.OnlyKnown = it.Delivery.NotBefore, it.Delivery.OnlyKnown
	r.shared.Intake.Rate(it)
	if it.MayHaveBegun() {
		r.shared.Intake.Timely(it) // notes it where it is late; the runtime before left out what it could
	}
	if it.Interjects() {
		r.shared.Busy.Go(func() { r.deliverAnswer(it) })
		return
	}
	r.push(it, r.parts.Identities.Session(it.Origin.Key(it.Input.ID)))
}

// isForAnother reports whether a message names one of the agents that are bound to
// its subject, and that is not this one. All agents are bound to doors: a message
// that comes by a door and names no agent is for none.
func (r *Runtime) isForAnother(it *message.Item) bool {
	in := it.Origin.Inbound
	if in == nil {
		return false
	}
	if in.Agent == "" {
		channel, _, _ := bus.Channel(it.Origin.Subject)
		return bus.IsDoor(channel)
	}
	return in.Agent != r.id && in.Agent != r.now().Config.ShadowOf
}

// deliverAnswer brings a result to the conversation that waits for it.
func (r *Runtime) deliverAnswer(it *message.Item) {
	key, ok := r.shared.Intake.Session(r.agent.Work, it)
	if ok && r.shared.Intake.LetPass(it, r.closed, r.shared.Yields) {
		r.bring(it, key)
	}
}

// enqueue queues an input with its conversation.
func (r *Runtime) enqueue(it *message.Item) {
	key := r.parts.Identities.Session(it.Origin.Key(it.Input.ID))
	r.shared.Intake.CheckID(it, key)
	r.parts.CountInbound(r.id, it)
	r.bring(it, key)
}

// bring brings an input to its session, here or in a partition.
func (r *Runtime) bring(it *message.Item, key session.Key) {
	if d := r.division.Load(); d != nil && r.whole == nil && key != message.HeartbeatKey {
		d.Hand(it, key)
		return
	}
	r.push(it, key)
}

// push queues an input with its conversation.
func (r *Runtime) push(it *message.Item, key session.Key) {
	entry := r.sessions.Acquire(key)
	entry.Value.Push(it, entry)
}

// leaveInbox gives up what came while the agent stopped taking.
func (r *Runtime) leaveInbox() {
	for {
		select {
		case d := <-r.inbox:
			d.Leave()
		default:
			return
		}
	}
}
