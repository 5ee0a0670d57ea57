//go:build long

package host_test

import (
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/internal/control"
)

// A message that cannot be stored is not promised.
func TestServiceWithoutItsStream(t *testing.T) {
	t.Parallel()
	h, _ := start(t, withTools(t))
	if err := h.Bus().JS.DeleteStream(t.Context(), bus.RoutesStream); err != nil {
		t.Fatal(err)
	}
	answer, code, why := knock(t, h.Bus().NC, control.AbortSubject, `{"agent":"demo","session":"demo/dm/ana"}`)
	if code != "503" || !strings.Contains(why, "publish on agent.route.demo: ") {
		t.Errorf("got %q, %s, %s", answer, code, why)
	}
}
