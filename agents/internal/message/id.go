package message

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"agenthost/bus"
	"agenthost/bus/delivery"

	"github.com/nats-io/nats.go"
)

// checkIDs refuses an input whose id is longer than the log keeps ids.
func (it *Item) checkIDs() error {
	if n := len(it.Input.ID); n > bus.LongestID {
		return fmt.Errorf("its id has %d bytes; want at most %d", n, bus.LongestID)
	}
	if r := it.Origin.Route; r != nil && len(r.CorrelationID) > bus.LongestID {
		return fmt.Errorf("its correlation_id has %d bytes; want at most %d", len(r.CorrelationID), bus.LongestID)
	}
	return nil
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
	_ = json.Unmarshal(d.Data(), &in) // what is of another type stays empty
	if in.From == "" && in.Chat == "" {
		return nil
	}
	it := &Item{Delivery: d, Origin: Origin{Subject: d.Subject, Inbound: &in}}
	it.Input.ID = messageID(in.ID, d.Header(), d)
	return it
}
