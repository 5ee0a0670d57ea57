package inflight

import (
	"strings"

	"agenthost/agents/internal/budget"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
)

// Reservation names the run in the record of its agent. A run that died before
// its first commit has another id when it is tried again, and the same message.
func (t *Run) Reservation() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.Inputs) == 0 {
		return t.ID
	}
	return session.SID(t.Inputs[0].ID, t.Key)
}

// Payer is the person whose message the run answers, by whichever agents it came;
// empty for what no person has asked for.
func (t *Run) Payer() budget.Peer {
	o, err := t.Origin()
	if err != nil || o.Trigger() != run.ByMessage && o.Trigger() != run.ByDelegate {
		return ""
	}
	at := t.Person()
	if at == nil || at.To == "" {
		return ""
	}
	return budget.Peer(strings.TrimPrefix(at.Subject, bus.OutboundPrefix) + "/" + at.To)
}
