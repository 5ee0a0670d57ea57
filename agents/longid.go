package agents

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"agenthost/agents/internal/clip"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/llm"

	"github.com/nats-io/nats.go"
)

const (
	longestID = 256  // bytes: a session remembers thousands of them
	echoedID  = 4096 // bytes that an error repeats of a longer one
)

// checkIDs refuses an input whose id is longer than the log keeps ids.
func (it *item) checkIDs() error {
	if n := len(it.input.ID); n > longestID {
		return fmt.Errorf("its id has %d bytes; want at most %d", n, longestID)
	}
	if r := it.origin.route; r != nil && len(r.CorrelationID) > longestID {
		return fmt.Errorf("its correlation_id has %d bytes; want at most %d", len(r.CorrelationID), longestID)
	}
	return nil
}

// unread is a message of a chat that cannot be taken, as far as it says whom to tell;
// nil when it does not.
func unread(d *delivery.Delivery) *item {
	if _, _, ok := bus.Channel(d.Subject); !ok || !bus.IsObject(d.Data()) {
		return nil
	}
	in := bus.Inbound{}
	_ = json.Unmarshal(d.Data(), &in) // what is of another type stays empty
	if in.From == "" && in.Chat == "" {
		return nil
	}
	it := &item{delivery: d, origin: origin{subject: d.Subject, inbound: &in}}
	it.input.ID = messageID(in.ID, d.Header(), d)
	return it
}

// turnBackInbound answers the sender of a message that cannot be taken for its
// id. There is no session that could: the id is what names the message there.
func (r *Runtime) turnBackInbound(it *item, why error) {
	in := it.origin.inbound
	if in == nil {
		return
	}
	name := r.id + ":" + it.delivery.Stream() + ":" + strconv.FormatUint(it.delivery.Seq, 10) + ":refused"
	reason := strings.TrimPrefix(why.Error(), bus.ErrMalformed.Error()+": ")
	e := &bus.Error{Code: string(llm.CodeValidation), Message: r.now().by(it.origin.subject).texts.Say("message_refused", "reason", reason)}
	msg, err := bus.NewMessage(it.origin.outbound(), bus.Outbound{
		ID: name, Agent: r.id, Session: string(it.origin.key(it.input.ID)), Kind: bus.KindError, To: sender(in),
		Chat: in.Chat, Thread: in.Thread, Text: e.Message, InReplyTo: clip.Head(cmp.Or(in.ID, it.input.ID), echoedID),
		Final: true, Error: e, SentAt: time.Now().UTC(),
	})
	if err != nil {
		r.log().Error().Err(err).Msg("encode error reply")
		return
	}
	msg.Header.Set(nats.MsgIdHdr, name)
	r.parts.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		if err != nil {
			r.log().Error().Err(err).Str("subject", msg.Subject).Msg("publish error reply; the dead letter has the message")
		}
	})
}
