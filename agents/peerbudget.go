package agents

import (
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/run"
)

// A peer is a person as a budget knows one: <channel>[.<instance>]/<from>, as
// approvers are written.
type peer string

// payer is the person whose message the run answers, by whichever agents it came;
// empty for what no person has asked for.
func (t *runner) payer() peer {
	o, err := t.origin()
	if err != nil || o.trigger() != run.ByMessage && o.trigger() != run.ByDelegate {
		return ""
	}
	at := t.person()
	if at == nil || at.To == "" {
		return ""
	}
	return peer(strings.TrimPrefix(at.Subject, bus.OutboundPrefix) + "/" + at.To)
}

// peerAccount is where what the run costs counts for its person; nil where
// nothing bounds that.
func (m *meter) peerAccount(payer peer, now time.Time) *account {
	if payer == "" {
		return nil
	}
	return m.t.c.r.ledger.ofPeer(payer, now)
}

// payer is the person whose budget counts what the run costs; empty where no
// budget does.
func (m *meter) payer() peer {
	if m.t.p.cfg.Limits.Budget.PeerDay == 0 {
		return ""
	}
	return m.t.payer()
}
