//go:build long

package backup_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

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

// The one that is begun last restores all. One that is still at work beside it, as after an
// operator has lost patience with it, deletes nothing of what the other has restored.
func TestRestoreBesideAnother(t *testing.T) {
	t.Parallel()
	from := bustest.Open(t).JS
	fill(t, from)
	folder := filepath.Join(t.TempDir(), "b")
	if _, err := backup.Write(t.Context(), from, folder, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	alone := bustest.Open(t).JS
	if _, err := backup.Restore(t.Context(), alone, folder, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	restored := func(js jetstream.JetStream) []string { // the lanes are noted again each time
		return slices.DeleteFunc(dump(t, js), func(line string) bool { return strings.HasPrefix(line, "KV_"+bus.LanesBucket) })
	}
	want := restored(alone)
	for _, at := range []int{0, 4, len(streamNames()) - 1} {
		t.Run(fmt.Sprint("at stream ", at), func(t *testing.T) {
			to := bustest.Open(t).JS
			begun := false
			_, err := backup.Restore(t.Context(), to, folder, backup.Options{Progress: func(p backup.Progress) {
				if begun || p.Done != at {
					return
				}
				begun = true
				if _, err := backup.Restore(t.Context(), to, folder, backup.Options{}); err != nil {
					t.Errorf("the second: %v", err)
				}
			}})
			bustest.WantError(t, err, "another restore")
			if !begun {
				t.Fatal("there was no second")
			}
			if diff := cmp.Diff(want, restored(to)); diff != "" {
				t.Errorf("what the second has restored, -want +got:\n%s", diff)
			}
		})
	}
}
