package intake

import (
	"time"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/sharedids"
	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// CheckID warns when the message and one of another session have the same Nats-Msg-Id.
func (i *Intake) CheckID(it *message.Item, key session.Key) {
	if it.Origin.Inbound == nil {
		return
	}
	id := it.Delivery.Header().Get(nats.MsgIdHdr)
	if id == "" {
		return
	}
	other, shared := i.Parts.IDs.Look(sharedids.Use{ID: id, Session: key, Seq: it.Input.Seq})
	if !shared || !i.Parts.IDs.Due(time.Now()) {
		return
	}
	i.log().Warn().Str("nats_msg_id", id).Str("subject", it.Input.Subject).Str("session", string(key)).Str("other", string(other)).
		Msgf("receive message: its %s was used in another session; within %s the stream drops such a message. Publish with <channel>.<instance>:<chat>:<id>",
			nats.MsgIdHdr, bus.DedupeWindow)
	i.Parts.Event(i.Agent, "duplicate_id", map[string]any{
		"id": id, "session": string(key), "other": string(other), "subject": it.Input.Subject, "seq": it.Input.Seq,
	})
}
