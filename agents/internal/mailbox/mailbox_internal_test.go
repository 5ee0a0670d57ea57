package mailbox

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/run"
)

// check compares what a mailbox counts with what is in it.
func (m *Mailbox) check(t *testing.T) {
	t.Helper()
	var count [message.Places]int
	changing := 0
	seen := map[*message.Item]bool{}
	for _, it := range m.Queue {
		if seen[it] {
			t.Fatalf("%s is in the queue twice", it.Input.ID)
		}
		seen[it] = true
		count[it.Place]++
		if it.Changes() {
			changing++
		}
	}
	if count != m.count || changing != m.changing || m.Total.Load() != int64(len(m.Queue)) {
		t.Fatalf("it counts %v, %d changes and %d in all; want %v, %d and %d", m.count, m.changing, m.Total.Load(), count, changing, len(m.Queue))
	}
}

// randomItem is one that a lane may bring, or a log.
func randomItem(n int) *message.Item {
	in := bus.Inbound{From: "ana", Text: "hi"}
	it := &message.Item{Origin: message.Origin{Subject: "plugin.inbound.web", Inbound: &in}}
	it.Input = run.Input{ID: fmt.Sprint("m", rand.IntN(n+1)), Subject: it.Origin.Subject, Seq: uint64(rand.IntN(n + 1))}
	if rand.IntN(3) > 0 {
		it.Delivery = &delivery.Delivery{}
	}
	if rand.IntN(5) == 0 {
		in.Edits = fmt.Sprint("m", rand.IntN(n+1))
	}
	return it
}

// Whatever comes and goes, no input is lost or in the queue twice, and the counts are
// those of the queue.
func TestMailboxCountsWhatItHas(t *testing.T) {
	t.Parallel()
	for range 300 {
		m := &Mailbox{Total: new(atomic.Int64)}
		for n := range 60 {
			before := slices.Clone(m.Queue)
			some := func() *message.Item { return before[rand.IntN(len(before))] }
			op := rand.IntN(7)
			if len(before) == 0 {
				op = 0
			}
			switch op {
			case 0, 1:
				it := randomItem(n)
				m.Insert(m.LastTurn(it), it)
				if len(m.Queue) != len(before)+1 || !slices.Contains(m.Queue, it) {
					t.Fatal("what was put in is not there")
				}
			case 2:
				it := some()
				if !m.Remove(it) || m.Remove(it) {
					t.Fatal("want it removed once")
				}
			case 3:
				k := rand.IntN(len(before) + 1)
				if got := m.RemoveFirst(k); !slices.Equal(append(got, m.Queue...), before) {
					t.Fatal("what was taken and what is left are not what there was")
				}
			case 4:
				m.Move(some(), message.Place(rand.IntN(int(message.Places))))
			case 5:
				m.Shift(rand.IntN(len(before)), 0)
			case 6:
				front := randomItem(n)
				front.Delivery = &delivery.Delivery{}
				m.Restart([]*message.Item{front})
				if m.Queue[0] != front || slices.ContainsFunc(m.Queue, func(it *message.Item) bool { return it.Delivery == nil || it.Place != message.Held }) {
					t.Fatal("after a restart all has a message and is held, what is put in front first")
				}
			}
			m.check(t)
		}
	}
}

// What the log holds stands at its turn, once.
func TestMailboxMergesWhatTheLogHolds(t *testing.T) {
	t.Parallel()
	for range 300 {
		m := &Mailbox{Total: new(atomic.Int64)}
		for seq := range 10 {
			it := randomItem(100)
			it.Delivery, it.Input.Seq, it.Input.ID = &delivery.Delivery{}, uint64(2*seq), fmt.Sprint("m", 2*seq)
			m.Insert(len(m.Queue), it)
		}
		var waiting []run.Input
		for _, seq := range rand.Perm(20)[:5] {
			waiting = append(waiting, run.Input{ID: fmt.Sprint("m", seq), Subject: "plugin.inbound.web", Seq: uint64(seq), Envelope: []byte(`{}`)})
		}
		m.Merge(waiting, func(in run.Input) *message.Item {
			it, err := message.FromLog(in)
			if err != nil {
				t.Fatal(err)
			}
			return it
		})
		m.check(t)
		if !slices.IsSortedFunc(m.Queue, func(a, b *message.Item) int { return int(a.Input.Seq) - int(b.Input.Seq) }) {
			t.Fatal("the queue is not in the order in which its messages came")
		}
		if m.count[message.Logged] != len(waiting) {
			t.Fatalf("%d are logged, want %d", m.count[message.Logged], len(waiting))
		}
	}
}

// A copy that came later does not take the turn of the message that the log holds, nor
// that message the turn of the copy.
func TestMailboxMergesBesideCopies(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ queue, waiting, want []uint64 }{
		"copy behind":            {[]uint64{6, 7, 105}, []uint64{5}, []uint64{5, 6, 7, 105}},
		"copy and message":       {[]uint64{6, 105, 5, 7}, []uint64{5}, []uint64{5, 6, 105, 7}},
		"message came again":     {[]uint64{6, 5, 7}, []uint64{5}, []uint64{5, 6, 7}},
		"copy before":            {[]uint64{5, 6}, []uint64{105}, []uint64{5, 6, 105}},
		"two, with their copies": {[]uint64{7, 105, 106}, []uint64{5, 6}, []uint64{5, 6, 7, 105, 106}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := &Mailbox{Total: new(atomic.Int64)}
			for _, seq := range test.queue {
				m.Insert(len(m.Queue), &message.Item{Input: numbered(seq), Delivery: &delivery.Delivery{}})
			}
			var waiting []run.Input
			for _, seq := range test.waiting {
				waiting = append(waiting, numbered(seq))
			}
			m.Merge(waiting, func(in run.Input) *message.Item { return &message.Item{Input: in, Place: message.Logged} })
			m.check(t)
			var got []uint64
			for _, it := range m.Queue {
				got = append(got, it.Input.Seq)
				if logged := slices.Contains(test.waiting, it.Input.Seq); logged != (it.Place == message.Logged) {
					t.Errorf("%d is at place %d", it.Input.Seq, it.Place)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %d, want %d", got, test.want)
			}
		})
	}
}

// numbered is the input with a sequence; those a hundred apart are copies.
func numbered(seq uint64) run.Input {
	return run.Input{ID: fmt.Sprint("m", seq%100), Subject: "plugin.inbound.web", Seq: seq}
}
