package delivery

import (
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// A Delivery is a message that a lane holds for its agents. The lane extends
// its ack timer until every agent that took it has called Done or Leave.
type Delivery struct {
	Subject string
	Seq     uint64 // in the stream
	Stored  time.Time
	// Tried reports that an owner before, or an earlier try, may have worked on it.
	Tried bool
	// Handed reports that the last who may have was an owner that stopped in good
	// order, and left it to the next.
	Handed bool

	// Doubtful reports that it was stored when this host took the lane from one that did not
	// let it go: that may have worked on it though the server says otherwise, as a server that
	// was restarted forgets its last deliveries.
	Doubtful bool

	// NotBefore is when the rate of its sender has room for it, where another host has
	// found that out.
	NotBefore time.Time

	// OnlyKnown is what another host has found out of the sender: see [Delivery.HandOn].
	OnlyKnown bool

	own     uint64      // its sequence in the stream of the lane
	stream  string      // that brought it first
	header  nats.Header // it had there; nil: that of the message
	msg     atomic.Pointer[message]
	lane    *Lane
	pin     string // under which it came; guarded by the lane's held
	settled bool   // the server does not owe it any more; guarded by the lane's held
	holders atomic.Int32
	left    atomic.Bool
}

// Data is the payload.
func (d *Delivery) Data() []byte { return d.msg.Load().Data }

// Header holds the headers; it may be nil.
func (d *Delivery) Header() nats.Header {
	if d.header != nil {
		return d.header
	}
	return d.msg.Load().Header
}

// Stream names the stream that brought it.
func (d *Delivery) Stream() string { return d.stream }

// Lane is the lane that brought it.
func (d *Delivery) Lane() *Lane { return d.lane }

// Hold announces that n agents will each call Done or Leave.
func (d *Delivery) Hold(n int) { d.holders.Store(int32(n)) }

// Share announces that one more agent will, while others hold d.
func (d *Delivery) Share() { d.holders.Add(1) }

// Done reports that an agent has nothing more to do with d: what it caused is
// stored. The last of them acknowledges it.
func (d *Delivery) Done() { d.release() }

// Leave reports that an agent gives d up unfinished. It stays unacknowledged,
// for the next owner or a later redelivery.
func (d *Delivery) Leave() {
	d.left.Store(true)
	d.release()
}

// LeaveIfLost is Leave for what has not begun, where this host knows that it has lost the
// lane since: the next owner has it, and the messages before it. An agent that has given
// those up must not begin with this one.
func (d *Delivery) LeaveIfLost() bool { return d.lane.held.leaveUnless(d, d.lane.holds) }

func (d *Delivery) release() {
	if d.holders.Add(-1) > 0 {
		return
	}
	d.lane.held.remove(d)
	if d.left.Load() {
		return
	}
	if !d.lane.held.under(d, d.lane.holds) {
		return // who has the lane now was given it too, and acknowledges it
	}
	// A lost ack costs a redelivery, which finds its id in the session's log.
	if err := d.msg.Load().ack(); err != nil {
		d.lane.log.Debug().Err(err).Uint64("seq", d.Seq).Msg("send ack: failed; the message will be redelivered")
	}
}
