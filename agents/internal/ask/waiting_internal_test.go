package ask

import (
	"testing"
	"time"

	"agenthost/run"
	"agenthost/session"
)

// The server answers in whole seconds: never before the time that was said, and
// less than a second after it. An agent is cut off when that has happened.
func TestNobodyIsAnsweredForTooEarly(t *testing.T) {
	for _, part := range []time.Duration{0, 1, 500 * time.Millisecond, time.Second - 1} {
		end := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(part)
		for _, w := range []Waiting{
			{Kind: run.ForApproval, Deadline: end},
			{Kind: run.ForDelegate, Deadline: Deadline(end)},
		} {
			at, err := time.Parse(time.RFC3339, w.reminder().Format(time.RFC3339))
			if late := at.Sub(end); err != nil || late < 0 || late >= time.Second {
				t.Errorf("%s: answered %s after %s, %v", w.Kind, late, end, err)
			}
			if !w.InTime(at) || w.InTime(at.Add(1)) {
				t.Errorf("%s: in time is not what comes before %s", w.Kind, at)
			}
			if w.Kind == run.ForDelegate && w.Deadline.Sub(at) < time.Second/2 {
				t.Errorf("cut off at %s, answered for at %s", w.Deadline, at)
			}
		}
	}
}

// A call of a log of version 0.1, which has no part of chance, keeps the id that was
// told; it is known like the others.
func TestWaitIDsOfOldLogs(t *testing.T) {
	old := ID("ana", "web/dm/ana", "run1", run.Call{ID: "call_1"})
	if want := "ana." + session.SID("ana", "web/dm/ana") + ".3z4qi42prroz"; old != want {
		t.Errorf("got %q, want %q", old, want)
	}
	wait := NewToken()
	ids := map[string]bool{
		old: true, ID("ana", "web/dm/ana", "run1", run.Call{ID: "call_1", Wait: wait}): true, old[:len(old)-1]: false, old + "." + wait: false, "": false,
		"ana.x." + wait: false,
	}
	for id, want := range ids {
		if _, _, ok := SplitID(id); ok != want {
			t.Errorf("%q: %t, want %t", id, ok, want)
		}
		if token := schedule(id)[len("agent.schedule.ana."):]; want && len(token) > 63 {
			t.Errorf("%q is no token of a subject", token)
		}
	}
	if wait == NewToken() {
		t.Error("chance is the same twice")
	}
}
