package agents

import (
	"hash/maphash"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// sharedIDs notices when messages of different sessions have one Nats-Msg-Id. Such a
// plugin counts by chat, and loses messages: within its window a stream drops the
// second. That one no host sees, but a later one with the same id.
//
// It remembers a number of recent ids, by their hash; a newer one takes the place of
// an older. A look costs some 100 ns.
type sharedIDs struct {
	seed  maphash.Seed
	slots [sharedSlots]atomic.Pointer[idUse]
	told  atomic.Int64 // when the last was told of, in nanoseconds
}

const (
	sharedSlots = 2048
	// sharedEvery is how often it is told at the most.
	sharedEvery = time.Second
)

// An idUse is a message that had an id.
type idUse struct {
	id      string
	session session.Key
	seq     uint64
}

func newSharedIDs() *sharedIDs { return &sharedIDs{seed: maphash.MakeSeed()} }

// look remembers use, and returns the session of another message that had its id.
func (s *sharedIDs) look(use idUse) (other session.Key, shared bool) {
	slot := &s.slots[maphash.String(s.seed, use.id)%sharedSlots]
	before := slot.Load()
	if before == nil || before.id != use.id {
		slot.Store(&use)
		return "", false
	}
	return before.session, before.session != use.session && before.seq != use.seq
}

// due reports whether it is time to tell again.
func (s *sharedIDs) due(now time.Time) bool {
	last := s.told.Load()
	return now.UnixNano()-last >= int64(sharedEvery) && s.told.CompareAndSwap(last, now.UnixNano())
}

// checkID warns when the message and one of another session have the same Nats-Msg-Id.
func (r *Runtime) checkID(it *item, key session.Key) {
	if it.origin.inbound == nil {
		return
	}
	id := it.delivery.Header().Get(nats.MsgIdHdr)
	if id == "" {
		return
	}
	other, shared := r.parts.ids.look(idUse{id, key, it.input.Seq})
	if !shared || !r.parts.ids.due(time.Now()) {
		return
	}
	r.log().Warn().Str("nats_msg_id", id).Str("subject", it.input.Subject).Str("session", string(key)).Str("other", string(other)).
		Msgf("receive message: its %s was used in another session; within %s the stream drops such a message. Publish with <channel>.<instance>:<chat>:<id>",
			nats.MsgIdHdr, bus.DedupeWindow)
	r.parts.event(r.id, "duplicate_id", map[string]any{
		"id": id, "session": string(key), "other": string(other), "subject": it.input.Subject, "seq": it.input.Seq,
	})
}
