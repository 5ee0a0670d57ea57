//go:build long

package plugins_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

// A limit of years is as long as the longest: platforms mistake units, and numbers
// overflow.
func TestRateLimitOfYears(t *testing.T) {
	plugins.SetLongestLimit(t, time.Hour)
	years := &plugins.RateLimitError{After: 100_000 * time.Hour, Account: true, Err: errors.New("429")}
	t.Run("of a reply", func(t *testing.T) {
		bustest.Bubble(t, func(t *testing.T) {
			b := connect(t, "")
			platform := newMemory(chatLimits())
			platform.fault(years)
			startHost(t, b, "host-1", platform, settings.Account{DeliverFor: 2 * time.Hour}).connected()
			send(t, b, reply("r1.1", "ana", "hello"))
			time.Sleep(61 * time.Minute)
			if got := platform.texts("ana"); !cmp.Equal(got, []string{"hello"}) {
				t.Errorf("got %q after the longest limit", got)
			}
		})
	})
	t.Run("of the login", func(t *testing.T) {
		bustest.Bubble(t, func(t *testing.T) {
			b := connect(t, "")
			ch := &limitedLogin{memory: newMemory(chatLimits()), err: years}
			h := startHost(t, b, "host-1", ch, settings.Account{})
			time.Sleep(61 * time.Minute)
			if state := h.courier.Status().State; state != plugins.StateConnected {
				t.Errorf("after the longest limit the state is %s", state)
			}
		})
	})
}
