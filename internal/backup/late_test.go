package backup_test

import (
	"crypto/rand"
	"path/filepath"
	"slices"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/backup"

	"github.com/nats-io/nats.go/jetstream"
)

func restoredFrom(t *testing.T, folder string) jetstream.JetStream {
	t.Helper()
	to := bustest.Open(t).JS
	if _, err := backup.Restore(t.Context(), to, folder, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	return to
}

// A file that a message brings while the backup is made is there with the message, also
// when it is the first one.
func TestFileThatComesMeanwhile(t *testing.T) {
	t.Parallel()
	from := bustest.Open(t).JS
	bustest.Provision(t, from)
	files, err := from.ObjectStore(t.Context(), bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 400<<10)
	_, _ = rand.Read(content)
	put := false
	folder := filepath.Join(t.TempDir(), "b")
	_, err = backup.Write(t.Context(), from, folder, backup.Options{Progress: func(p backup.Progress) {
		if p.Stream != bus.SessionsStream || put {
			return
		}
		put = true
		if _, err := files.PutBytes(t.Context(), "f", content); err != nil {
			t.Error(err)
		}
		bustest.Publish(t, from, "plugin.inbound.web", `{"id":"m","media":[{"object":"f"}]}`)
		bustest.Publish(t, from, "agent.route.ana", "a task that comes after its stream is copied")
	}})
	if err != nil {
		t.Fatal(err)
	}
	to := restoredFrom(t, folder)
	if got := len(messagesOf(t, to)); got != 1 {
		t.Fatalf("got %d messages, want 1", got)
	}
	restored, err := to.ObjectStore(t.Context(), bus.FilesBucket)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := restored.GetBytes(t.Context(), "f"); err != nil || !slices.Equal(got, content) {
		t.Errorf("file: %d bytes, %v", len(got), err)
	}
	// What the log may know by its sequence gets no namesake.
	if ack, err := to.Publish(t.Context(), "agent.route.ana", []byte("next")); err != nil || ack.Sequence != 2 {
		t.Errorf("the next task: got %v, %v; want sequence 2", ack, err)
	}
}
