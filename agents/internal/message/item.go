package message

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/signing"
	"agenthost/run"
	"agenthost/session"
)

// An Item is an input in the queue of its conversation.
type Item struct {
	Input    run.Input
	Origin   Origin
	Binding  *agents.Binding    // nil for what came by route
	Delivery *delivery.Delivery // nil once acknowledged
	Stored   time.Time          // when its stream took it; zero for what only the log holds
	Tried    bool
	Handed   bool // released cleanly: the previous owner shut down in order
	// OnlyKnown is for what came before its sender was let in, or shut out, and may have begun
	// under what held before: it goes on if its session has it, and is nothing otherwise.
	OnlyKnown bool
	Late      bool      // a firing that came too late, and is left out unless it had begun
	Signed    bool      // by route: a host has sent it
	Old       bool      // signed, as far as a host of version 0.1 could
	Local     bool      // it answers nothing that was asked elsewhere
	Stale     time.Time // when it came, if no host served the agent then
	// Unrated is when it came, as long as the rate of its sender has yet to judge it; zero: it
	// has, or need not. Guarded by the conversation.
	Unrated time.Time
	// NotBefore is when the rate of its sender has room for it; zero: at once.
	NotBefore time.Time
	Unfit     error // why it is no answer, where that has a reason of its own

	Screened atomic.Pointer[Screening] // what the before_message hooks have made of it
	unedited *unedited                 // nil: nothing has edited it

	Place     Place // guarded by the conversation
	LogReads  int   // how often the log had been read when it came; guarded by the conversation
	Patient   bool  // it stops no run, though it has priority; guarded by the conversation
	Inherited bool  // only the log of an owner before has brought it: what is older may still come

	OwnIDLookedUp bool // the log was asked for it by the id that it was sent with; guarded by the conversation

	Refusal   *run.Error // why it is refused
	PassedOn  string     // what its sender is told when it was for a run of another session
	Withdrawn bool       // it ends without a run and without a reply
	Since     uint64     // where the stretch of refused messages begins that it is in
}

// MayHaveBegun reports whether an owner before may have worked on it.
func (it *Item) MayHaveBegun() bool {
	return it.Tried || it.Delivery != nil && it.Delivery.Doubtful
}

// Decode decodes a delivery. With an error there is an item only where the
// payload could be read.
func Decode(d *delivery.Delivery, signer *signing.Signer) (*Item, error) {
	it := &Item{Delivery: d, Stored: d.Stored, Tried: d.Tried, Handed: d.Handed, Origin: Origin{Subject: d.Subject}}
	header := d.Header()
	it.verify(d, signer)
	trace := tracing.In(header)
	it.Input = run.Input{Subject: d.Subject, Seq: d.Seq, Trace: trace.Parent, State: trace.State}
	id, err := it.decode(d.Data())
	if err != nil {
		return nil, err
	}
	it.Input.ID = messageID(id, header, d)
	return it, it.checkIDs()
}

// verify finds out whether a host has sent a route message: to what only hosts write,
// or signed.
func (it *Item) verify(d *delivery.Delivery, signer *signing.Signer) {
	if d.Stream() != bus.InboundStream {
		it.Old = signer.Predates(d.Stored)
		it.Signed = it.Old || bus.HostSubject(d.Subject) || signer.Verify(d.Subject, d.Header(), d.Data())
	}
}

// decode reads the payload and returns the id in it.
func (it *Item) decode(data []byte) (id string, err error) {
	var value any
	if _, _, ok := bus.Channel(it.Origin.Subject); ok {
		in, err := bus.DecodeInbound(data)
		if err != nil {
			return "", err
		}
		in.Agent = cmp.Or(it.Delivery.Header().Get(bus.AddresseeHeader), in.Agent)
		it.Origin.Inbound, value, id = &in, &in, in.ID
	} else {
		r, err := bus.DecodeRoute(data)
		if err == nil && !it.Signed {
			data, err = r.Foreign(data)
		}
		if err != nil {
			return "", err
		}
		it.Origin.Route, value, id = &r, &r, r.ID
	}
	if it.Input.Envelope = data; !bus.IsObject(data) { // plain text
		it.Input.Envelope, err = json.Marshal(value)
	}
	return id, err
}

// FromLog is an input that only the log holds.
func FromLog(in run.Input) (*Item, error) {
	o, err := ReadOrigin(in)
	if err != nil {
		return nil, fmt.Errorf("waiting input: %w", err)
	}
	return &Item{Input: in, Origin: o, Place: Logged, Inherited: true}, nil
}

// Seen looks the input up in the log of its session: ok tells whether the log has
// it, seq is the commit that holds its end, 0 while it has none.
func (it *Item) Seen(journal *session.Log) (seq uint64, ok bool) {
	if it.Origin.Inbound == nil { // its sequence is of another stream
		return journal.Seen(it.Input.ID)
	}
	return journal.SeenAt(it.Input.ID, it.Input.Seq)
}

// Queue is the mode in which the item's session is served.
func (it *Item) Queue(agent session.Queue) session.Queue {
	if it.Origin.Route != nil && it.Origin.Route.Kind == bus.RouteSchedule {
		return session.Collect // firings that came while no host was there become one
	}
	if it.Binding != nil && it.Binding.Queue != "" {
		return it.Binding.Queue
	}
	if agent == "" {
		return session.Followup
	}
	return agent
}

// Again reports whether it may be the message of an input that the log has.
func (it *Item) Again() bool { return it.Place == Held || it.Place == Repeated }

// OnlyLogged reports whether the log alone stands for it.
func (it *Item) OnlyLogged() bool { return it.Place == Logged && it.Delivery == nil }

// Interjects reports whether it is meant for the run under way, or the one that
// waits, and not for one of its own.
func (it *Item) Interjects() bool {
	return it.Origin.Route != nil && it.Origin.Route.Kind == bus.RouteResult
}

// IsTick reports whether it is a heartbeat tick, which may or may not begin a run.
func (it *Item) IsTick() bool {
	route := it.Origin.Route
	return route != nil && route.Kind == bus.RouteHeartbeat && !route.Due.IsZero()
}

// IsAt reports whether the input comes from an address.
func (it *Item) IsAt(at *bus.Origin) bool {
	in := it.Origin.Inbound
	if at.Subject != it.Origin.Outbound() || at.Thread != in.Thread {
		return false
	}
	if in.Group {
		return at.Chat == in.Chat
	}
	return at.To == Sender(in) && (at.Chat == "" || at.Chat == in.Chat)
}

// IsFrom reports whether an inbound message is of one of approvers, which are written
// <channel>[.<instance>]/<from>.
func (it *Item) IsFrom(approvers []string) bool {
	channel := strings.TrimPrefix(it.Origin.Subject, bus.InboundPrefix)
	return slices.Contains(approvers, channel+"/"+Sender(it.Origin.Inbound))
}

// Answered is when the answer was stored that it brings, by the clock of its stream; zero for
// what only the log holds, and where that is not known.
func (it *Item) Answered() time.Time {
	switch route := it.Origin.Route; {
	case route == nil:
	case it.Signed && !route.AnsweredAt.IsZero():
		return route.AnsweredAt
	case it.Origin.Due(): // it was kept for its agent, by a host that did not note when it came
		return time.Time{}
	}
	return it.Stored
}

// ThroughDoor reports whether a result is what a person or the clock says. Hosts of
// version 0.1 did not tell.
func (it *Item) ThroughDoor() bool { return it.Origin.Route.Door != "" || it.Old }
