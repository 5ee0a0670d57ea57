package pairing_test

import (
	"testing"
	"time"

	"agenthost/bus/bustest"
)

// Hosts that run go by what they have read while the bucket is gone: those who were let in stay so
// until it is made again, empty.
func TestApprovedWhileTheBucketIsGone(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		w := open(t)
		p := w.ask(t, "42")
		if _, err := w.Approve(t.Context(), p.Code, "root"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if err := w.js.DeleteKeyValue(t.Context(), "AGENT_PAIRINGS"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Minute)
		if !w.Paired(p) {
			t.Error("shut out while the bucket is gone")
		}
		bustest.Provision(t, w.js)
		time.Sleep(time.Minute)
		if w.Paired(p) {
			t.Error("let in, and the bucket is empty")
		}
	})
}
