package memory_test

import (
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"
	"agenthost/tools/memory"

	"github.com/nats-io/nats.go"
)

// A host goes on following the bucket when NATS was away.
func TestNATSRestarts(t *testing.T) {
	t.Parallel()
	url, server := bustest.Server(t)
	one, two := bustest.OpenConfig(t, bus.Config{URL: url}), bustest.OpenConfig(t, bus.Config{URL: url})
	for _, b := range []*bus.Bus{one, two} {
		if err := b.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := streams.Provision(t.Context(), one.JS, 0, 0, bustest.Log(t)); err != nil {
		t.Fatal(err)
	}
	follows, writes := start(t, one.JS, memory.Options{}), start(t, two.JS, memory.Options{})
	id := writes.remember(t, ana, "1", "green tea", "")
	if found := follows.found(t, ana, "tea"); len(found) != 1 {
		t.Fatalf("found %q", found)
	}
	back := []chan nats.Status{one.NC.StatusChanged(nats.CONNECTED), two.NC.StatusChanged(nats.CONNECTED)}
	server.Restart()
	for _, b := range back {
		<-b
	}
	eventually(t, "it can be forgotten", func() bool {
		_, err := writes.call(t, ana, "f", "forget", args{"id": id})
		return err == nil
	})
	writes.remember(t, ana, "2", "black tea", "")
	eventually(t, "the other host has followed", func() bool {
		found := follows.found(t, ana, "tea")
		return len(found) == 1 && found[0] == "black tea"
	})
}
