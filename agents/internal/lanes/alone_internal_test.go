package lanes

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/bus/bustest"
)

// A host that has just connected again has not heard the others for as long as it was away: they may
// live.
func TestNotAloneAfterTheConnectionWasLost(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		nc := bustest.Open(t).NC
		data, err := json.Marshal(peer{Fleet: "f", ID: "other"})
		if err != nil {
			t.Fatal(err)
		}
		say := func() {
			if err := nc.Publish(presenceSubject, data); err != nil {
				t.Error(err)
			}
		}
		ended := make(chan time.Time, 1)
		began := time.Now()
		go func() {
			(&spread{nc: nc, id: "self", fleet: "f"}).alone(t.Context())
			ended <- time.Now()
		}()
		time.Sleep(presenceTTL - time.Second/2)
		if err := nc.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		say()
		if got := (<-ended).Sub(began); got < 2*presenceTTL {
			t.Errorf("alone after %s, and another host lived after %s", got, presenceTTL+time.Second/2)
		}
	})
}
