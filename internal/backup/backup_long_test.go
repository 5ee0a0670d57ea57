//go:build long

package backup_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"
	"agenthost/internal/backup"
)

// A backup of replicas is restored as replicas, or on a single server without.
func TestBackupOfACluster(t *testing.T) {
	c := bustest.StartCluster(t)
	js := bustest.OpenConfig(t, bus.Config{URL: c.URL(0)}).JS
	if err := streams.Provision(t.Context(), js, 3, 0, bustest.Log(t)); err != nil {
		t.Fatal(err)
	}
	fillStreams(t, js)
	folder := filepath.Join(t.TempDir(), "b")
	if _, err := backup.Write(t.Context(), js, folder, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	noLanes := func(line string) bool { return strings.HasPrefix(line, "KV_AGENT_LANES ") }
	before := slices.DeleteFunc(dump(t, js), noLanes)
	single := bustest.Open(t).JS
	if _, err := backup.Restore(t.Context(), single, folder, backup.Options{Replicas: 1}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, slices.DeleteFunc(dump(t, single), noLanes)); diff != "" {
		t.Errorf("on a single server: %s", diff)
	}
	for _, name := range streamNames() {
		if err := js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := backup.Restore(t.Context(), js, folder, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, slices.DeleteFunc(dump(t, js), noLanes)); diff != "" {
		t.Errorf("on the cluster: %s", diff)
	}
	if c := bustest.StreamConfig(t, js, bus.SessionsStream); c.Replicas != 3 {
		t.Errorf("%d replicas, want 3", c.Replicas)
	}
	if ack, err := js.Publish(t.Context(), "plugin.inbound.web", []byte("x")); err != nil || ack.Sequence != 21 {
		t.Errorf("the next message: got %v, %v; want sequence 21", ack, err)
	}
}
