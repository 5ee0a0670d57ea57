package agents

import (
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/signing"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// An item is an input in the queue of its conversation.
type item struct {
	input    run.Input
	origin   origin
	binding  *Binding           // nil for what came by route
	delivery *delivery.Delivery // nil once acknowledged
	tried    bool
	handed   bool      // released cleanly: the previous owner shut down in order
	signed   bool      // by route: a host has sent it
	old      bool      // signed, as far as a host of version 0.1 could
	local    bool      // it answers nothing that was asked elsewhere
	stale    time.Time // when it came, if that was while nobody was there
	unfit    error     // why it is no answer, where that has a reason of its own

	screened atomic.Pointer[screening] // what the before_message hooks have made of it

	place     place // guarded by the conversation
	inherited bool  // only the log of an owner before has brought it: what is older may still come

	refusal   *run.Error // why it is refused
	withdrawn bool       // it ends without a run and without a reply
	since     uint64     // where the stretch of refused messages begins that it is in
}

// A place says who has an input of a queue.
type place uint8

const (
	held     place = iota // its message is unacknowledged
	repeated              // the same, and the log has its id: at its turn it is answered again, not run
	spilled               // its message is unacknowledged, and it is to go to the log
	spilling              // it is on its way to the log
	logged                // the log has it
	places                // how many there are
)

// newItem decodes a delivery. With an error there is an item only where the
// payload could be read.
func newItem(d *delivery.Delivery, signer *signing.Signer) (*item, error) {
	it := &item{delivery: d, tried: d.Tried, handed: d.Handed, origin: origin{subject: d.Subject}}
	header := d.Header()
	it.verify(d, signer)
	it.input = run.Input{
		Subject: d.Subject, Seq: d.Seq,
		Trace: header.Get("traceparent"), State: header.Get("tracestate"),
	}
	id, err := it.decode(d.Data())
	if err != nil {
		return nil, err
	}
	it.input.ID = messageID(id, header, d)
	return it, it.checkIDs()
}

// verify finds out whether a host has sent a route message: to what only hosts write,
// or signed.
func (it *item) verify(d *delivery.Delivery, signer *signing.Signer) {
	if d.Stream() != bus.InboundStream {
		it.old = signer.Predates(d.Stored)
		it.signed = it.old || bus.HostSubject(d.Subject) || signer.Verify(d.Subject, d.Header(), d.Data())
	}
}

// decode reads the payload and returns the id in it.
func (it *item) decode(data []byte) (id string, err error) {
	var value any
	if _, _, ok := bus.Channel(it.origin.subject); ok {
		in, err := bus.DecodeInbound(data)
		if err != nil {
			return "", err
		}
		it.origin.inbound, value, id = &in, &in, in.ID
	} else {
		r, err := bus.DecodeRoute(data)
		if err == nil && !it.signed {
			data, err = r.Foreign(data)
		}
		if err != nil {
			return "", err
		}
		it.origin.route, value, id = &r, &r, r.ID
	}
	if it.input.Envelope = data; !bus.IsObject(data) { // plain text
		it.input.Envelope, err = json.Marshal(value)
	}
	return id, err
}

// messageID names a message: its own id, else the publisher's, else its place
// in the stream.
func messageID(id string, header nats.Header, d *delivery.Delivery) string {
	if id == "" {
		id = header.Get(nats.MsgIdHdr)
	}
	if id == "" {
		id = d.Stream() + ":" + strconv.FormatUint(d.Seq, 10)
	}
	return id
}

// loggedItem is an input that only the log holds.
func loggedItem(in run.Input) (*item, error) {
	o, err := readOrigin(in)
	if err != nil {
		return nil, fmt.Errorf("waiting input: %w", err)
	}
	return &item{input: in, origin: o, place: logged, inherited: true}, nil
}

// seen looks the input up in the log of its session: ok tells whether the log has
// it, seq is the commit that holds its end, 0 while it has none.
func (it *item) seen(journal *session.Log) (seq uint64, ok bool) {
	if it.origin.inbound == nil { // its sequence is of another stream
		return journal.Seen(it.input.ID)
	}
	return journal.SeenAt(it.input.ID, it.input.Seq)
}

// queue is the mode in which the item's session is served.
func (it *item) queue(agent session.Queue) session.Queue {
	if it.origin.route != nil && it.origin.route.Kind == bus.RouteSchedule {
		return session.Collect // firings that nobody came to answer become one
	}
	if it.binding != nil && it.binding.Queue != "" {
		return it.binding.Queue
	}
	if agent == "" {
		return session.Followup
	}
	return agent
}

// again reports whether it may be the message of an input that the log has.
func (it *item) again() bool { return it.place == held || it.place == repeated }

// onlyLogged reports whether the log alone stands for it.
func (it *item) onlyLogged() bool { return it.place == logged && it.delivery == nil }

// interjects reports whether it is meant for the run under way, or the one that
// waits, and not for one of its own.
func (it *item) interjects() bool {
	return it.origin.route != nil && it.origin.route.Kind == bus.RouteResult
}
