package delivery

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A HandedOn is what a message was before the host of its agent handed it on to one of the
// agent's partitions. There it is again what it was, so that its session, its log and its
// dead letter name where it came from.
type HandedOn struct {
	Stream    string    `json:"stream"`
	Subject   string    `json:"subject"`
	Seq       uint64    `json:"seq"`
	Stored    time.Time `json:"stored"`
	Tried     bool      `json:"tried,omitempty"`
	Handed    bool      `json:"handed,omitempty"`
	Doubtful  bool      `json:"doubtful,omitempty"`
	ID        string    `json:"id,omitempty"` // its Nats-Msg-Id
	NotBefore time.Time `json:"not_before,omitzero"`
	OnlyKnown bool      `json:"only_known,omitempty"`
}

// BringsAll reports whether it brings whatever comes for a session: that of a partition does. What
// people write and the results of agents come by two lanes else.
func (l *Lane) BringsAll() bool { return l.cfg.HandedOn }

const (
	sealHeader = "Agent-Seal"
	// inboundAge is how long what people write is kept: a copy of it no longer than that.
	inboundAge = "72h"
)

// ReadHandedOn reads what a message was that was handed on; ok is false for any other.
func ReadHandedOn(header nats.Header) (was HandedOn, ok bool) {
	err := json.Unmarshal([]byte(header.Get(bus.HandedOnHeader)), &was)
	return was, err == nil && was.Seq > 0
}

// HandOn makes the message on subject that hands d on. id names it in its stream. The session
// works on it when the rate of its sender has room, and if onlyKnown if it has begun already.
func (d *Delivery) HandOn(subject, id string, notBefore time.Time, onlyKnown bool) (*nats.Msg, error) {
	old := d.Header()
	was, err := json.Marshal(HandedOn{
		Stream: d.stream, Subject: d.Subject, Seq: d.Seq, Stored: d.Stored.UTC(), Tried: d.Tried, Handed: d.Handed, Doubtful: d.Doubtful,
		ID: old.Get(nats.MsgIdHdr), NotBefore: notBefore, OnlyKnown: onlyKnown,
	})
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg(subject)
	msg.Data = d.Data()
	for name, values := range old {
		if !strings.HasPrefix(name, "Nats-") { // the server's, and for that stream
			msg.Header[name] = values
		}
	}
	msg.Header.Set(bus.HandedOnHeader, string(was))
	msg.Header.Set(nats.MsgIdHdr, id)
	if d.stream == bus.InboundStream {
		msg.Header.Set(jetstream.MsgTTLHeader, inboundAge)
	}
	return msg, nil
}

// Seal makes the message on subject that ends what is handed on by one layout of an agent.
// Lanes take it for nothing. id names it in its stream.
func Seal(subject, id string) *nats.Msg {
	msg := nats.NewMsg(subject)
	msg.Header.Set(sealHeader, "1")
	msg.Header.Set(nats.MsgIdHdr, id)
	msg.Header.Set(jetstream.MsgTTLHeader, inboundAge)
	return msg
}

// isSeal reports whether a message is one that [Seal] has made.
func isSeal(m message) bool { return m.Header.Get(sealHeader) != "" && len(m.Data) == 0 }

// restore makes the delivery what it was before it was handed on. What only looks like it stays as
// it is, and is refused as it cannot be read.
func (d *Delivery) restore() {
	header := d.msg.Load().Header
	was, ok := ReadHandedOn(header)
	if !ok {
		return
	}
	d.stream, d.Subject, d.Seq, d.Stored, d.NotBefore = was.Stream, was.Subject, was.Seq, was.Stored, was.NotBefore
	d.OnlyKnown = was.OnlyKnown
	d.Tried, d.Handed, d.Doubtful = d.Tried || was.Tried, d.Handed || was.Handed, d.Doubtful || was.Doubtful
	d.header = maps.Clone(header)
	delete(d.header, bus.HandedOnHeader)
	delete(d.header, nats.MsgIdHdr)
	if was.ID != "" {
		d.header.Set(nats.MsgIdHdr, was.ID)
	}
}

// passed is how far the lane has come with the message that has the sequence own in its stream, in
// the sequences by which sessions know messages. What is handed on has those of its own stream,
// and not in their order, as sessions hand on side by side: once all has come that a former owner
// may have had, nothing older than what a log has is left.
func (l *Lane) passed(own uint64) uint64 {
	switch {
	case !l.cfg.HandedOn:
		return own
	case own < l.tried:
		return 0
	}
	return everything
}
