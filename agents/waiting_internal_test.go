package agents

import (
	"testing"
	"time"
)

// The server answers in whole seconds: never before the time that was said, and
// less than a second after it.
func TestNobodyIsAnsweredForBeforeTheDeadline(t *testing.T) {
	for _, part := range []time.Duration{0, 1, 500 * time.Millisecond, time.Second - 1} {
		w := Waiting{Deadline: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(part)}
		at, err := time.Parse(time.RFC3339, w.reminder().Format(time.RFC3339))
		if late := at.Sub(w.Deadline); err != nil || late < 0 || late >= time.Second {
			t.Errorf("%s: answered %s after it, %v", w.Deadline, late, err)
		}
	}
}
