package host_test

import (
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/internal/waittest"
)

// What an operator tries in the playground, or asks again of a session, counts in the
// agent's budget, which is no more than it was for that.
func TestTrialsAreBooked(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	cfg := s.config(t)
	cfg.Agents[0].Limits.Budget.Day = 0.03 // three answers
	cfg.HTTP.Token = adminToken
	h, _ := start(t, cfg)
	play := func() (cost int64, refused string) {
		t.Helper()
		got := struct {
			Cost        int64
			Text, Error string
		}{}
		orderAPI(t, h, "/api/agents/play", map[string]any{"agent": "demo", "messages": []map[string]any{{"role": "user", "text": "hi"}}}).into(t, &got)
		return got.Cost, got.Error
	}
	out := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "hi"})
	out()
	if cost, why := play(); cost != cent || why != "" {
		t.Fatalf("a try: got %d, %q", cost, why)
	}
	spent := func() int64 { return hostStatus(t, h).Agents[0].SpentToday }
	waittest.Until(t, "the try is booked", func() bool { return spent() == 2*cent })
	rerun := struct {
		Runs []struct{ Now struct{ Text, Error string } }
	}{}
	orderAPI(t, h, "/api/sessions/rerun", map[string]any{"agent": "demo", "session": "demo/dm/ana", "model": "echo"}).into(t, &rerun)
	if len(rerun.Runs) != 1 || rerun.Runs[0].Now.Text != "hello" {
		t.Fatalf("again: got %+v", rerun)
	}
	waittest.Until(t, "what was asked again is booked", func() bool { return spent() == 3*cent })
	if cost, why := play(); cost != 0 || !strings.Contains(why, "budget") || s.calls.Load() != 3 {
		t.Errorf("beyond the budget: got %d, %q, and %d calls", cost, why, s.calls.Load())
	}
	if got := spent(); got != 3*cent {
		t.Errorf("spent %d, want %d", got, 3*cent)
	}
}
