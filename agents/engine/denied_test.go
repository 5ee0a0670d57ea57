package engine_test

import (
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
)

// permit gives an agent other permissions, as a reload does.
func (w *world) permit(a actor, permissions map[string]string) {
	w.t.Helper()
	r := w.fleet.Runtime(a.cfg.ID)
	a.permissions = permissions
	if err := w.fleet.Change(w.t.Context(), []*engine.Runtime{r}, []func(){func() { r.Change(a.cfg, w.kit(a)) }}); err != nil {
		w.t.Fatal(err)
	}
}

// An approval goes by the permissions that there are when it is given: what they deny by
// now is not run, and who approved it is told.
func TestApprovalOfWhatIsDeniedByNow(t *testing.T) {
	t.Parallel()
	const refused = "This is no longer allowed, so it was not done: Ana wants to use pay with sum=5."
	tests := map[string]struct {
		permission string
		effects    int64
	}{"deny": {"deny", 0}, "ask": {"ask", 1}, "allow": {"allow", 1}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var n atomic.Int64
			a := bot("ana", script(paying), has(counter(&n)))
			w := newWorld(t, a)
			w.say("ana", bus.Inbound{Text: "pay"})
			w.hear()
			w.settled()
			w.permit(a, map[string]string{"pay": tt.permission})
			w.say("ana", bus.Inbound{Text: "approve session"})
			if tt.effects == 1 {
				w.expect("reply", "It says: paid")
			} else {
				w.expect("notice", refused)
				if out := w.hear(); !strings.HasPrefix(out.Text, "It says: not allowed: ") {
					t.Errorf("heard %q", out.Text)
				}
			}
			w.settled()
			w.silent()
			if n.Load() != tt.effects {
				t.Errorf("got %d effects, want %d", n.Load(), tt.effects)
			}
			if _, err := run.Replay(w.log("ana", session.DM("ana", "", "ana"))); err != nil {
				t.Error(err)
			}
			if tt.effects == 0 { // nor is it kept that it was approved
				w.permit(a, nil)
				w.say("ana", bus.Inbound{Text: "pay"})
				w.expect("approval", "Ana wants to use pay with sum=5. Reply approve or deny.")
			}
		})
	}
	t.Run("by a program", func(t *testing.T) {
		var n atomic.Int64
		a := bot("ana", script(paying), has(counter(&n)))
		w := newWorld(t, a)
		w.say("ana", bus.Inbound{Text: "pay"})
		call := w.hear().Call
		w.settled()
		w.permit(a, map[string]string{"pay": "deny"})
		told := w.subscribe("told")
		w.send("agent.route.ana", bus.Route{Kind: bus.RouteResult, From: "cli", Door: bus.DoorCLI, CorrelationID: call, Text: "approve", ReplyTo: "told"})
		answer := bus.Route{}
		if err := json.Unmarshal(w.next(told).Data, &answer); err != nil || answer.Error == nil || answer.Error.Message != "the permissions of ana deny pay by now; it is not run" {
			t.Errorf("who approved is told %+v, %v", answer, err)
		}
		w.expect("notice", refused)
		w.hear()
		if n.Load() != 0 {
			t.Errorf("got %d effects", n.Load())
		}
	})
}
