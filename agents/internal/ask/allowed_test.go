package ask_test

import (
	"testing"

	"agenthost/agents/internal/ask"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
)

// An entry that no host has written allows nothing, also where it is in the place of one that did.
func TestOverwrittenAllowed(t *testing.T) {
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	log := bustest.Log(t)
	publisher, err := publishing.New(b.JS.Conn(), log)
	if err != nil {
		t.Fatal(err)
	}
	s := &ask.Store{JS: b.JS, Publisher: publisher, Reader: records.NewReader(b.JS), Log: &log}
	const agent, session, tool = "ana", "web/dm/1", "pay"
	kv, err := b.JS.KeyValue(t.Context(), bus.AllowedBucket)
	if err != nil {
		t.Fatal(err)
	}
	for _, foreign := range []string{"{", "", "{}", `{"id":"ana.all.other"}`} {
		if err := s.Allow(t.Context(), agent, session, tool, ask.ScopeAlways, "bea"); err != nil {
			t.Fatal(err)
		}
		if !s.Allowed(t.Context(), agent, session, tool) {
			t.Fatal("what was allowed is not")
		}
		keys, err := kv.Keys(t.Context())
		if err != nil || len(keys) != 1 {
			t.Fatalf("keys %q, %v", keys, err)
		}
		if _, err := kv.PutString(t.Context(), keys[0], foreign); err != nil {
			t.Fatal(err)
		}
		if s.Allowed(t.Context(), agent, session, tool) {
			t.Errorf("%q allows it", foreign)
		}
	}
}
