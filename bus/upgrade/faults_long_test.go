//go:build long

package upgrade_test

import (
	"errors"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"

	"github.com/rs/zerolog"
)

// What NATS refuses in an upgrade is an error of it, and so is an answer that is lost: the host
// that tries again goes on from there.
func TestUpgradeWhereEachRequestFailsOnce(t *testing.T) {
	t.Parallel()
	for name, late := range map[string]bool{"refused": false, "answer lost": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			js := bustest.Open(t).JS
			oldRoutes(t, js)
			f := &bustest.FailOnce{JetStream: js, Late: late, Only: func(request string) bool {
				_, of, _ := strings.Cut(request, " ") // not the lock: another host waits until its lease is over
				return strings.HasPrefix(of, bus.RoutesStream) || strings.HasPrefix(of, "agent") || request == "KeyValue "+bus.LanesBucket
			}}
			for again := true; again; {
				before := len(f.Failed())
				f.Arm()
				err := streams.Provision(t.Context(), f, 1, 4, zerolog.Nop())
				if again = len(f.Failed()) > before; again != errors.Is(err, bustest.ErrPlanted) || !again && err != nil {
					t.Fatalf("got %v, and these have failed: %q", err, f.Failed())
				}
			}
			if n := len(f.Failed()); n < 20 {
				t.Errorf("only %d have failed: %q", n, f.Failed())
			}
			wantUpgraded(t, js)
		})
	}
}
