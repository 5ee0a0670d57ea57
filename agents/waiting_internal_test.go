package agents

import (
	"testing"
	"time"

	"agenthost/run"
)

// The server answers in whole seconds: never before the time that was said, and
// less than a second after it. An agent is cut off when that has happened.
func TestNobodyIsAnsweredForTooEarly(t *testing.T) {
	for _, part := range []time.Duration{0, 1, 500 * time.Millisecond, time.Second - 1} {
		end := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(part)
		for _, w := range []Waiting{
			{Kind: run.ForApproval, Deadline: end},
			{Kind: run.ForDelegate, Deadline: deadline(end)},
		} {
			at, err := time.Parse(time.RFC3339, w.reminder().Format(time.RFC3339))
			if late := at.Sub(end); err != nil || late < 0 || late >= time.Second {
				t.Errorf("%s: answered %s after %s, %v", w.Kind, late, end, err)
			}
			if w.Kind == run.ForDelegate && w.Deadline.Sub(at) < time.Second/2 {
				t.Errorf("cut off at %s, answered for at %s", w.Deadline, at)
			}
		}
	}
}
