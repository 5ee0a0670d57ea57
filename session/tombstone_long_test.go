//go:build long

package session_test

import (
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/session"
)

// A session to which nothing was written for longer than streams have messages leaves no record.
func TestNoTombstoneOfAnOldSession(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		cfg := bustest.Config(t)
		b := bustest.OpenConfig(t, cfg)
		s := newStore(t, b)
		put(t, b, bus.InboundPrefix+"web", `{"from":"ana","text":"hi"}`)
		owner := openTalk(t, s)
		owner.turn()
		b.Close()
		time.Sleep(bus.RequestsAge + time.Hour) // without a server, whose ticks take real time
		b = bustest.OpenConfig(t, cfg)
		s = newStore(t, b)
		p, err := archive(b).Prune(t.Context(), "bot", time.Now(), func(session.Key) bool { return false }, func(session.Key) {})
		if err != nil || p.Sessions != 1 {
			t.Fatalf("deleted %d sessions, %v", p.Sessions, err)
		}
		d, err := s.Tombstone(t.Context(), "bot", ana)
		if err != nil || len(d.Reached) > 0 {
			t.Errorf("got %+v, %v", d, err)
		}
	})
}
