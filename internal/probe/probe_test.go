package probe_test

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/signing"
	"agenthost/client"
	"agenthost/internal/probe"
)

// A canary that no host takes in time is taken back: one that comes to it later would leave
// a session that is not deleted.
func TestRunTakesBackWhatIsNotAnswered(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	if _, err := signing.Open(t.Context(), b.JS); err != nil {
		t.Fatal(err)
	}
	c := client.New(b.JS.Conn(), b.JS, client.Options{})
	hosts := client.Fleet{}
	if err := json.Unmarshal([]byte(`[{"host":"red","state":"ready","agents":[{"id":"ana","state":"ready"}]}]`), &hosts); err != nil {
		t.Fatal(err)
	}
	for within, missing := range map[time.Duration]string{50 * time.Millisecond: probe.Begun, time.Nanosecond: probe.Stored} {
		r, err := probe.Run(t.Context(), c, hosts, "ana", within)
		if err != nil || r.OK || r.Missing != missing || r.Reason == "" {
			t.Errorf("within %s: got %+v, %v, want %s missing", within, r, err, missing)
		}
	}
	stream, err := b.JS.Stream(t.Context(), bus.InboundStream)
	if err != nil {
		t.Fatal(err)
	}
	if state := stream.CachedInfo().State; state.Msgs != 0 || state.LastSeq == 0 {
		t.Errorf("canaries: got %d of %d left, want 0 of 1", state.Msgs, state.LastSeq)
	}
	kv, err := b.JS.KeyValue(t.Context(), bus.RequestsBucket)
	if err != nil {
		t.Fatal(err)
	}
	keys, err := kv.Keys(t.Context())
	if err != nil || len(keys) != 2 {
		t.Errorf("got the records %q, %v, want one for the session of each canary: the next host does not begin with it", keys, err)
	}
}
