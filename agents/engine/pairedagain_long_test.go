//go:build long

package engine_test

import (
	"fmt"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/internal/pairing"
	"agenthost/internal/pause"
)

// choosy is an agent to which some may write, and those whom the operator lets in.
func choosy(a *actor) {
	patient(a)
	a.cfg.Channels[0].Senders = agents.Senders{Allow: blockers, Pairing: true}
}

// blockers have a session in each partition.
var blockers = []string{"bob", "cid", "dan", "eve"}

// block has runs under way that keep all that is newer above the ack floor of each lane, and
// returns what will be heard when they end.
func (w *crashWorld) block() (replies []string) {
	w.t.Helper()
	w.model.hold("slow")
	for _, person := range blockers {
		w.from(person, "slow")
		replies = append(replies, "slow reply")
	}
	w.pass()
	return replies
}

// letIn approves the only stranger with a code.
func (w *crashWorld) letIn() {
	w.t.Helper()
	store := pairing.NewStore(w.js)
	list, err := store.List(w.t.Context())
	if err != nil || len(list) != 1 {
		w.t.Fatalf("%d codes, %v", len(list), err)
	}
	if _, err := store.Approve(w.t.Context(), list[0].Code, "root"); err != nil {
		w.t.Fatal(err)
	}
	w.wantSpoken("after the approval", " notice")
}

func (w *crashWorld) shutOut(person string) {
	w.t.Helper()
	if _, err := pairing.NewStore(w.js).Revoke(w.t.Context(), "", person); err != nil {
		w.t.Fatal(err)
	}
	w.pass()
}

// crossed has eachEnd divide the agent in each way for each end, as TestEachEndWithEachDivision
// does, which has the build tag long.
var crossed bool

// divisions are the numbers of partitions with which a host ends in a way.
func divisions(how string) []int {
	switch {
	case crossed:
		return []int{0, 2}
	case how == "killed":
		return []int{2}
	default:
		return []int{0}
	}
}

// eachEnd runs a test for each way in which a host ends, with and without partitions.
func eachEnd(t *testing.T, test func(w *crashWorld, end func(*crashWorld)), more ...func(*actor)) {
	t.Helper()
	for how, end := range ends {
		for _, partitions := range divisions(how) {
			t.Run(fmt.Sprint(how, " ", partitions), func(t *testing.T) {
				inCrashWorld(t, func(w *crashWorld) { test(w, end) }, append(more, divided(partitions))...)
			})
		}
	}
}

// What strangers wrote before they were let in is not worked on when it comes again, and brings
// them no second notice, soon or late.
func TestMessagesFromBeforeAnApprovalComeAgain(t *testing.T) {
	for _, later := range []time.Duration{time.Minute, 2 * time.Hour} {
		t.Run(later.String(), func(t *testing.T) {
			eachEnd(t, func(w *crashWorld, end func(*crashWorld)) {
				slow := w.block()
				w.from("zoe", "p1", "p2")
				w.wantSpoken("as a stranger", "p1 notice")
				w.letIn()
				w.from("zoe", "p3")
				w.wantSpoken("let in", "p3 reply")
				end(w)
				time.Sleep(later)
				w.begin()
				time.Sleep(time.Minute)
				w.wantSpoken("when all came again", slow...)
				w.from("zoe", "p4")
				w.wantSpoken("after that", "p4 reply")
				w.settled()
			}, choosy)
		})
	}
}

// What strangers have written hours ago brings them no notice when it comes again.
func TestMessagesOfStrangersComeAgain(t *testing.T) {
	eachEnd(t, func(w *crashWorld, end func(*crashWorld)) {
		slow := w.block()
		w.from("zoe", "p1", "p2")
		w.wantSpoken("as a stranger", "p1 notice")
		end(w)
		time.Sleep(2 * time.Hour) // without a host, whose ticks take real time
		w.begin()
		time.Sleep(time.Minute)
		w.wantSpoken("when all came again", slow...)
		w.from("zoe", "p3")
		w.wantSpoken("the next hour", "p3 notice")
		w.settled()
	}, choosy)
}

// What was written before the approval is not worked on either when no host has seen it by then.
func TestLateMessagesFromBeforeAnApproval(t *testing.T) {
	eachEnd(t, func(w *crashWorld, end func(*crashWorld)) {
		w.from("zoe", "p1")
		w.wantSpoken("as a stranger", "p1 notice")
		end(w)
		w.from("zoe", "p2")
		time.Sleep(time.Minute)
		store := pairing.NewStore(w.js)
		list, err := store.List(w.t.Context())
		if err == nil {
			_, err = store.Approve(w.t.Context(), list[0].Code, "root")
		}
		if err != nil {
			w.t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		w.from("zoe", "p3")
		w.begin()
		time.Sleep(time.Minute)
		w.wantSpoken("with a host", "p3 reply")
		w.settled()
	}, choosy)
}

// What a person wrote who was shut out since has its answer, or gets it if the log had it; it
// brings no notice.
func TestMessagesFromBeforeARevocationComeAgain(t *testing.T) {
	eachEnd(t, func(w *crashWorld, end func(*crashWorld)) {
		slow := w.block()
		w.from("zoe", "p1")
		w.wantSpoken("as a stranger", "p1 notice")
		w.letIn()
		w.from("zoe", "m1")
		w.wantSpoken("let in", "m1 reply")
		pauses, agent := pause.NewStore(w.js), pause.Target{Agent: "ana"}
		if _, err := pauses.Begin(w.t.Context(), pause.Pause{Target: agent}); err != nil {
			w.t.Fatal(err)
		}
		w.pass()
		w.from("zoe", "m2")
		w.wantSpoken("in the log")
		w.shutOut("ana/zoe")
		w.from("zoe", "p2")
		w.wantSpoken("within the hour")
		end(w)
		time.Sleep(2 * time.Hour) // without a host, whose ticks take real time
		if err := pauses.End(w.t.Context(), agent); err != nil {
			w.t.Fatal(err)
		}
		w.begin()
		time.Sleep(time.Minute)
		w.wantSpoken("when all came again", append([]string{"m2 reply"}, slow...)...)
		w.from("zoe", "p3")
		w.wantSpoken("a stranger again", "p3 notice")
		w.settled()
	}, choosy)
}
