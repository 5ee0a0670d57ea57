package agents

import (
	"time"

	"agenthost/agents/internal/msgids"
	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// checkID warns when the message and one of another session have the same Nats-Msg-Id.
func (r *Runtime) checkID(it *item, key session.Key) {
	if it.origin.inbound == nil {
		return
	}
	id := it.delivery.Header().Get(nats.MsgIdHdr)
	if id == "" {
		return
	}
	other, shared := r.parts.ids.Look(msgids.Use{ID: id, Session: key, Seq: it.input.Seq})
	if !shared || !r.parts.ids.Due(time.Now()) {
		return
	}
	r.log().Warn().Str("nats_msg_id", id).Str("subject", it.input.Subject).Str("session", string(key)).Str("other", string(other)).
		Msgf("receive message: its %s was used in another session; within %s the stream drops such a message. Publish with <channel>.<instance>:<chat>:<id>",
			nats.MsgIdHdr, bus.DedupeWindow)
	r.parts.event(r.id, "duplicate_id", map[string]any{
		"id": id, "session": string(key), "other": string(other), "subject": it.input.Subject, "seq": it.input.Seq,
	})
}
