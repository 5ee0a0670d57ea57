package engine_test

import (
	"encoding/json"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/records"
)

// lives begins so many lives of the host in the run of a message, and ends each by end.
// The first life has begun.
func (w *crashWorld) lives(n int, id string, end func()) {
	w.t.Helper()
	for life := range n {
		if life > 0 {
			w.model.hold(id)
			w.begin()
		}
		w.pass()
		if got := w.model.called(id); got != life+1 {
			w.t.Fatalf("in life %d the model was called %d times, want %d", life+1, got, life+1)
		}
		end()
	}
}

// A message in whose run the host has died five times does not run again: it becomes a
// dead letter that says so, and the person hears of an error.
func TestMessageThatFailsItsHostIsADeadLetter(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("m00")
		w.tell("m00")
		w.lives(5, "m00", w.crash)
		w.begin()
		if out := w.hear(); out.Kind != bus.KindError || !out.Final || out.InReplyTo != "m00" {
			t.Errorf("heard %+v, want an error in reply to m00", out)
		}
		w.settled()
		w.pass()
		w.silent()
		if n := w.model.called("m00"); n != 5 {
			t.Errorf("the model was called %d times, want 5", n)
		}
		rec, err := records.NewReader(w.js).Last(w.t.Context(), bus.DeadStream, "agent.dead.ana")
		if err != nil {
			t.Fatal(err)
		}
		letter := bus.DeadLetter{}
		if err := json.Unmarshal(rec.Data, &letter); err != nil {
			t.Fatal(err)
		}
		if letter.Attempts != 5 || !strings.Contains(letter.Reason, "failed its host 5 times") {
			t.Errorf("the dead letter tells of %d attempts, %q", letter.Attempts, letter.Reason)
		}
	})
}

// A host that stops in good order has not failed, however often it does so in the run
// of one message.
func TestStopsInARunAreNoFailures(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.model.hold("m00")
		w.tell("m00")
		w.lives(8, "m00", func() {
			w.stop()
			w.model.free()
		})
		w.begin()
		w.wantReplies("m00")
	})
}
