//go:build unix && long

package chaos_test

import (
	"fmt"
	"testing"
)

// TestBusySessionsKilled kills a host whose sessions never run out of messages:
// their mailboxes overflow into the log, their logs have snapshots, and all that
// was delivered and not acknowledged comes again after each kill.
func TestBusySessionsKilled(t *testing.T) {
	for _, b := range pick(someBusy, allBusy()) {
		t.Run(fmt.Sprintf("%dx%d/queue_max %d/%s", b.sessions, b.outstanding, b.queueMax, b.target), func(t *testing.T) {
			t.Parallel()
			g := targets[b.target](t, b.queueMax)
			tr := g.converse(b.crowd, b.queueMax)
			g.killAtRandom(newRand(t), killCount(t), tr)
			tr.stop()
			tr.audit()
		})
	}
}
