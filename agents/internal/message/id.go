package message

import (
	"fmt"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// checkIDs refuses an input of which an id is longer than the log keeps ids, or than
// the key of a session has room for.
func (it *Item) checkIDs() error {
	ids := []named{{"id", it.Input.ID}}
	if r := it.Origin.Route; r != nil {
		ids = append(ids, named{"correlation_id", r.CorrelationID}, named{"from", strings.TrimPrefix(r.From, bus.ProgramPrefix)})
	}
	for _, id := range ids {
		if n := len(id.value); n > bus.LongestID {
			return fmt.Errorf("its %s has %d bytes; want at most %d", id.field, n, bus.LongestID)
		}
	}
	if in := it.Origin.Inbound; in != nil {
		return in.CheckIDs()
	}
	return nil
}

// named is a value of a field.
type named struct{ field, value string }

// Join has the input, where its session is that of another account of the person, named by
// its own account as well: two accounts may use the same id.
func (it *Item) Join(own, joined session.Key) {
	if own != joined {
		it.Input.ID, it.Input.Sent = session.LoggedID(it.Input.ID, own, joined), it.Input.ID
	}
}

// StreamOf is the stream that stores what comes by a subject.
func StreamOf(subject string) string {
	if _, _, ok := bus.Channel(subject); ok {
		return bus.InboundStream
	}
	if strings.HasPrefix(subject, bus.DuePrefix) {
		return bus.SchedulesStream
	}
	return bus.RoutesStream
}

// ID names a message of which a host knows the own id, empty where it has none.
func ID(own string, d *delivery.Delivery) string { return messageID(own, d.Header(), d) }

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

// Unread is a message of a chat that cannot be taken, as far as it says whom to tell;
// nil when it does not.
func Unread(d *delivery.Delivery) *Item {
	if _, _, ok := bus.Channel(d.Subject); !ok || !bus.IsObject(d.Data()) {
		return nil
	}
	in := bus.Inbound{}
	_ = bus.ReadFields(d.Data(), &in) // what is of another type stays empty
	if in.From == "" && in.Chat == "" {
		return nil
	}
	it := &Item{Delivery: d, Origin: Origin{Subject: d.Subject, Inbound: &in}}
	it.Input.ID = ID(in.ID, d)
	return it
}
