package engine_test

import (
	"slices"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/internal/pause"
)

// urge publishes a message of a person's with priority, whose text is its id.
func (w *crashWorld) urge(from, id string) {
	w.t.Helper()
	w.alter(bus.Inbound{ID: id, From: from, Text: id, Priority: "now", Chat: "g", Group: true})
}

// write publishes messages to a group, whose text is their id.
func (w *crashWorld) write(from string, ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		w.alter(bus.Inbound{ID: id, From: from, Text: id, Chat: "g", Group: true})
	}
}

// perMinute lets each sender write once a minute; the rest waits.
func perMinute(a *actor) { a.cfg.Channels[0].Rate = agents.Rate{Messages: 1, Per: time.Minute} }

// The rate lets no more go on where a message has priority.
func TestPriorityTakesATurnOfTheRate(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.write("ana", "first", "L", "x")
		w.pass()
		w.urge("ana", "NOW")
		w.wantSpoken("at first", "L notice", "first reply")
		for _, want := range []string{"NOW reply", "L reply", "x reply"} {
			time.Sleep(time.Minute - 5*time.Second) // to hear takes the rest
			w.wantSpoken("a minute later", want)
		}
		w.settled()
	}, perMinute, patient)
}

// What has priority goes first also where no run is under way, and stops none.
func TestPriorityAfterAPause(t *testing.T) {
	for name, crash := range map[string]func(w *crashWorld){"": func(*crashWorld) {}, "crash": func(w *crashWorld) { w.crash(); w.begin() }} {
		t.Run(name, func(t *testing.T) {
			inCrashWorld(t, func(w *crashWorld) {
				pauses, agent := pause.NewStore(w.js), pause.Target{Agent: "ana"}
				if _, err := pauses.Begin(w.t.Context(), pause.Pause{Target: agent}); err != nil {
					t.Fatal(err)
				}
				w.pass()
				w.write("ana", "a", "b")
				w.urge("ana", "NOW")
				w.write("ana", "c")
				w.urge("bea", "NOW2")
				w.pass()
				crash(w)
				w.pass()
				if err := pauses.End(w.t.Context(), agent); err != nil {
					t.Fatal(err)
				}
				w.pass()
				w.wantSaid("NOW=NOW", "NOW2=NOW2", "a=a", "b=b", "c=c")
			})
		})
	}
}

// What has priority does not pass an order to start afresh: what was sent behind that is said in the
// fresh session. It stops the run that is under way when it comes, and none that waited then.
func TestPriorityBehindAFreshStart(t *testing.T) {
	tests := map[string]struct {
		before func(w *crashWorld) // NOW comes
		after  func(w *crashWorld)
		want   []string
	}{
		"one waits before the order": {func(*crashWorld) {}, func(w *crashWorld) {
			w.model.release("x")
		}, []string{"first=Stopped", "x=x", "/new=Done.", "NOW=NOW", "y=y", "z=z"}},
		"none waits before it": {func(w *crashWorld) {
			w.model.release("first")
			w.pass()
		}, func(*crashWorld) {}, []string{"first=first", "x=Stopped", "/new=Done.", "NOW=NOW", "y=y", "z=z"}},
		"the order was obeyed": {func(w *crashWorld) {
			w.model.release("first")
			w.model.hold("y")
			w.model.release("x")
			w.pass()
		}, func(*crashWorld) {}, []string{"first=first", "x=x", "/new=Done.", "y=Stopped", "NOW=NOW", "z=z"}},
		"the host dies": {func(*crashWorld) {}, func(w *crashWorld) {
			w.crash()
			w.begin()
		}, []string{"first=Stopped", "x=x", "/new=Done.", "NOW=NOW", "y=y", "z=z"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			inCrashWorld(t, func(w *crashWorld) {
				w.model.hold("first")
				w.model.hold("x")
				w.write("ana", "first")
				w.pass()
				w.write("ana", "x", "/new", "y", "z")
				w.pass()
				tt.before(w)
				w.urge("ana", "NOW")
				w.pass()
				tt.after(w)
				w.wantSaid(tt.want...)
			})
		})
	}
}

// spoken are the messages to people since the last look, sorted: the message answered, and
// the kind.
func (w *crashWorld) spoken() (list []string) {
	w.t.Helper()
	w.pass()
	list = []string{}
	for len(w.out) > 0 {
		out := w.hear()
		list = append(list, out.InReplyTo+" "+out.Kind)
	}
	slices.Sort(list)
	return list
}

func (w *crashWorld) wantSpoken(what string, want ...string) {
	w.t.Helper()
	if got := w.spoken(); !slices.Equal(got, append([]string{}, want...)) {
		w.t.Errorf("%s: heard %q, want %q", what, got, want)
	}
}
