//go:build long

package engine_test

import (
	"sync/atomic"
	"testing"
	"time"
)

// A message behind an approval waits for a person, perhaps for days: it does not count as one
// that waits for the host.
func TestOldestWaitingLeavesOutWhatIsBehindAnApproval(t *testing.T) {
	var paid atomic.Int64
	inCrashWorld(t, func(w *crashWorld) {
		w.model.call = "pay"
		w.tell("pay", "m01")
		w.pass()
		time.Sleep(time.Hour)
		for agent, waited := range w.fleet.OldestWaiting() {
			if waited != 0 {
				t.Errorf("of %s a message has waited for %s", agent, waited)
			}
		}
		w.tell("approve")
		w.wantReplies("pay", "m01")
	}, has(counter(&paid)))
}
