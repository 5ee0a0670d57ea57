package replies

import (
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/outbox"
	"agenthost/run"
	"agenthost/session"
)

// Say answers an input outside of any run. The same input gets the same answer under the
// same id.
func (s *Sender) Say(it *message.Item, reply run.Reply) {
	out := Aside(s.Session, it, reply)
	out.End = func(bool) {}
	s.Send(out)
}

// Aside is a reply that no run gives.
func Aside(s inflight.Session, it *message.Item, reply run.Reply) *outbox.Batch {
	return AsideAs(s, it.Input.ID, it, reply)
}

// AsideAs is Aside under a name: the stream keeps one reply of a kind under it.
func AsideAs(s inflight.Session, name string, it *message.Item, reply run.Reply) *outbox.Batch {
	// Several agents may be in one chat, and answer one input there.
	t := inflight.Run{Session: s, ID: reply.Kind + "-" + session.SID(s.Agent.ID+" "+name, s.Key)}
	t.Prepare([]*message.Item{it})
	reply.N = 1
	if err := t.Address(&reply); err != nil {
		s.Log().Error().Err(err).Msg("encode reply")
	}
	return &outbox.Batch{Replies: []*run.Reply{&reply}, Trace: t.Trace}
}
