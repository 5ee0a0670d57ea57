package lanes

import (
	"context"
	"slices"
	"sync"
	"testing"

	"agenthost/agents/internal/finishing"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/bus/streams"

	"github.com/rs/zerolog"
)

// Hosts that run while the first stream of the fleet is made again are of one fleet with those that
// start after it, and their names are taken.
func TestFleetWhoseStreamIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	if err := streams.Provision(t.Context(), b.JS, 1, 1, zerolog.Nop()); err != nil {
		t.Fatal(err)
	}
	few := zerolog.Nop()
	host := func(name string) *Set {
		t.Helper()
		s := New(Options{JS: b.JS, Reader: records.NewReader(b.JS), Host: name, Count: 1, Log: few, Few: &few, Ender: &ended{}, Finishing: finishing.NewIndex()}, nil)
		s.spread.findNamesake(t.Context())
		return s
	}
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() { stop(); running.Wait() })
	run := func(s *Set) { running.Go(func() { s.spread.run(ctx) }) }
	hears := func(s *Set, name string) {
		t.Helper()
		bustest.Eventually(t, s.Host+" hears "+name, func() bool {
			s.spread.mu.Lock()
			defer s.spread.mu.Unlock()
			return slices.ContainsFunc(s.spread.peers, func(p peer) bool { return p.Host == name })
		})
	}
	old, other := host("old"), host("other")
	run(old)
	run(other)
	hears(old, "other")
	inbound, err := b.JS.Stream(t.Context(), bus.InboundStream)
	if err == nil {
		err = b.JS.DeleteStream(t.Context(), bus.InboundStream)
	}
	if err == nil {
		_, err = b.JS.CreateStream(t.Context(), inbound.CachedInfo().Config)
	}
	if err != nil {
		t.Fatal(err)
	}
	young := host("young")
	run(young)
	for _, s := range []*Set{old, other} {
		if _, err := s.lookForOrphans(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	hears(old, "young")
	hears(young, "old")
	hears(young, "other")
	hears(old, "other")
	if !host("old").spread.namesake.Load() {
		t.Error("a second host of the name old does not hear of the first")
	}
}
