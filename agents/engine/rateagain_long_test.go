//go:build long

package engine_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/run"
)

// from publishes messages of a person, whose text is their id.
func (w *crashWorld) from(person string, ids ...string) {
	w.t.Helper()
	for _, id := range ids {
		data, err := json.Marshal(bus.Inbound{ID: id, From: person, Text: id})
		if err == nil {
			_, err = w.js.Publish(w.t.Context(), "plugin.inbound.ana", data)
		}
		if err != nil {
			w.t.Fatal(err)
		}
	}
}

// ends are the ways in which the life of a host ends.
var ends = map[string]func(w *crashWorld){
	"killed": (*crashWorld).crash,
	"drained": func(w *crashWorld) {
		w.stop()
		w.model.free()
	},
}

// A message that was refused as its sender writes too much has its end, and gets no other when it
// comes again, however long after.
func TestMessagesOverTheRateComeAgain(t *testing.T) {
	eachEnd(t, func(w *crashWorld, end func(*crashWorld)) {
		slow := w.block()
		w.from("ana", "r1", "r2", "r3", "r4")
		w.wantSpoken("at first", "r1 reply", "r2 reply", "r3 error", "r4 error")
		if n := len(w.committed(run.InputRefused)); n != 2 {
			w.t.Errorf("the log has %d refusals, want 2", n)
		}
		end(w)
		time.Sleep(2 * bus.DedupeWindow) // the stream would take another reply
		w.begin()
		time.Sleep(time.Minute)
		w.wantSpoken("when they came again", slow...)
		w.from("ana", "r0") // what a new owner finds may have begun
		w.wantSpoken("next", "r0 reply")
		w.stop()
		time.Sleep(2 * time.Hour) // without a host, whose ticks take real time
		w.begin()
		w.from("ana", "r3", "r5", "r6", "r7")
		w.wantSpoken("sent again", "r3 reply", "r5 reply", "r6 error", "r7 error")
		w.settled()
	}, rated(2, refuse), patient)
}

// Who is over the rate is told so once the log has it, and is told by the next host where this
// one ended before.
func TestRefusalOverTheRateIsLoggedFirst(t *testing.T) {
	inCrashWorld(t, func(w *crashWorld) {
		w.from("ana", "r1")
		w.wantSpoken("at first", "r1 reply")
		w.commits.hold()
		w.from("ana", "r2")
		w.wantSpoken("before it is logged")
		w.commits.release()
		w.wantSpoken("once it is logged", "r2 error")
		w.replies.hold()
		w.from("ana", "r3")
		w.wantSpoken("before it is published")
		w.crash()
		w.begin()
		time.Sleep(time.Minute)
		w.wantSpoken("by the next host", "r3 error")
		w.settled()
	}, rated(1, refuse))
}

// A flood over the rate takes few commits, and of what the session remembers the room of one
// message; what its sender writes again with an id is another try.
func TestFloodOverTheRate(t *testing.T) {
	const n = 900
	inCrashWorld(t, func(w *crashWorld) {
		w.from("ana", "r1")
		w.pass()
		before := w.stored(bus.SessionsStream)
		ids := make([]string, n)
		for i := range ids {
			ids[i] = fmt.Sprint("f", i)
		}
		w.commits.hold() // what comes meanwhile is one batch
		w.from("ana", ids...)
		w.pass()
		w.commits.release()
		w.pass()
		refused := w.committed(run.InputRefused)
		if len(refused) != n {
			t.Errorf("%d are refused, want %d", len(refused), n)
		}
		for _, e := range refused {
			if e.Since != refused[0].Input.Seq {
				t.Fatalf("%s is of the stretch from %d, want that of all, from %d", e.Input.ID, e.Since, refused[0].Input.Seq)
			}
		}
		if commits := w.stored(bus.SessionsStream) - before; commits > 6 {
			t.Errorf("%d commits refuse %d messages", commits, n)
		}
		w.settled()
	}, rated(1, refuse))
}

// What came while no host ran counts, also where a host that was killed may have begun it: no more
// of it is answered than the rate lets through, and that is what came first.
func TestMessagesMeanwhileAreRated(t *testing.T) {
	for _, n := range []int{5, 60} { // with and without room for all in memory
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			eachEnd(t, func(w *crashWorld, end func(*crashWorld)) {
				w.from("ana", "r0")
				w.wantSpoken("at first", "r0 reply")
				end(w)
				var ids, want []string
				for i := range n {
					id := fmt.Sprintf("m%02d", i)
					ids = append(ids, id)
					want = append(want, id+" error")
				}
				want[0], want[1] = "m00 reply", "m01 reply"
				w.from("ana", ids...)
				w.begin()
				time.Sleep(time.Minute)
				w.wantSpoken("of what came meanwhile", want...)
				w.settled()
				end(w)
				time.Sleep(2 * time.Minute)
				w.begin()
				time.Sleep(time.Minute)
				w.wantSpoken("again")
				w.settled()
			}, rated(2, refuse), patient)
		})
	}
}

// What waits for the rate after a takeover waits in its order.
func TestMessagesMeanwhileWait(t *testing.T) {
	for _, n := range []int{4, 40} { // with and without room for all in memory
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inCrashWorld(t, func(w *crashWorld) {
				w.from("ana", "r0")
				w.wantSpoken("at first", "r0 reply")
				w.crash()
				var ids []string
				for i := range n {
					ids = append(ids, fmt.Sprintf("m%02d", i))
				}
				w.from("ana", ids...)
				w.begin()
				time.Sleep(time.Minute)
				w.wantSpoken("at once", "m00 reply", "m01 reply", "m02 notice")
				time.Sleep(5 * time.Minute)
				w.wantSpoken("half of the time later", "m02 reply")
				time.Sleep(5 * time.Minute)
				w.wantSpoken("all of it later", "m03 reply")
				w.crash()
			}, rated(2, wait), func(a *actor) { a.cfg.Channels[0].Rate.Per = 10 * time.Minute }, patient)
		})
	}
}
