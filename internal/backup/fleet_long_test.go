//go:build long

package backup_test

import (
	"path/filepath"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/backup"
)

// A fleet that is restored from a backup made while it worked goes on as after a crash of
// all its hosts: each message has one end, in its order, and no effect that was under way
// happens a second time.
func TestBackupWhileHostsWork(t *testing.T) {
	url, _ := bustest.Server(t)
	b := bustest.OpenConfig(t, bus.Config{URL: url})
	first := &charges{hold: make(chan struct{}), calls: map[string]int{}}
	stops := []func(){serveFleet(t, url, "one", first), serveFleet(t, url, "two", first)}
	talking := make(chan struct{})
	go func() {
		defer close(talking)
		talk(t, b.JS)
	}()
	bustest.Eventually(t, "there is work", func() bool {
		return len(messagesOf(t, b.JS)) >= 220 && len(endsOf(t, b.JS)) >= sessions/2 && len(first.snapshot()) >= held
	})
	folder := filepath.Join(t.TempDir(), "b")
	m, err := backup.Write(t.Context(), b.JS, folder, backup.Options{})
	close(first.hold)
	if err != nil {
		t.Fatal(err)
	}
	<-talking
	for _, stop := range stops {
		stop()
	}
	before := 0
	for _, one := range messagesOf(t, b.JS) {
		if !one.at.After(m.Moment) {
			before++
		}
	}
	to, _ := bustest.Server(t)
	restored := bustest.OpenConfig(t, bus.Config{URL: to})
	if _, err := backup.Restore(t.Context(), restored.JS, folder, backup.Options{}); err != nil {
		t.Fatal(err)
	}
	had := endsOf(t, restored.JS)
	have := len(messagesOf(t, restored.JS))
	t.Logf("before the moment %d messages; in the backup %d, of them %d with an end", before, have, len(had))
	if len(had) == 0 || len(had) == have {
		t.Error("no host was at work when the backup was made")
	}
	checkRestored(t, to, restored.JS, before, had, first)
}
