package budget

import (
	"context"
	"errors"
	"time"

	"agenthost/session"
)

// A Peer is a person as a budget knows one: <channel>[.<instance>]/<from>, as
// approvers are written.
type Peer string

// peerKey is the record of what one person has had an agent spend in a day.
func peerKey(agent string, p Peer, at time.Time) string {
	return spendKey(agent, at) + "." + session.SID(agent, session.Key(p))
}

// ofPeer is the account of what one person has spent in the day that at is in.
func (l *Ledger) ofPeer(p Peer, at time.Time) *account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.account(peerKey(l.Agent, p, at))
	if a.peer == "" { // once only: its goroutine reads it without the lock
		a.peer = p
	}
	return a
}

func (h *Hold) admitPeer(ctx context.Context, limits Limits) (*ExceededError, error) {
	c := h.claim()
	c.limit = limits.Peer
	err := h.peer.reserve(ctx, &c)
	if errors.Is(err, errNotLeft) {
		return &ExceededError{Span: OfPeer, Spent: c.spent, Limit: c.limit, Peer: h.try.Payer}, nil
	}
	return nil, err
}
