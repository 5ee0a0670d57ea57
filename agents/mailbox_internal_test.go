package agents

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/run"
)

// check compares what a mailbox counts with what is in it.
func (m *mailbox) check(t *testing.T) {
	t.Helper()
	var count [places]int
	changing := 0
	seen := map[*item]bool{}
	for _, it := range m.queue {
		if seen[it] {
			t.Fatalf("%s is in the queue twice", it.input.ID)
		}
		seen[it] = true
		count[it.place]++
		if it.changes() {
			changing++
		}
	}
	if count != m.count || changing != m.changing || m.total.Load() != int64(len(m.queue)) {
		t.Fatalf("it counts %v, %d changes and %d in all; want %v, %d and %d", m.count, m.changing, m.total.Load(), count, changing, len(m.queue))
	}
}

// randomItem is one that a lane may bring, or a log.
func randomItem(n int) *item {
	in := bus.Inbound{From: "ana", Text: "hi"}
	it := &item{origin: origin{subject: "plugin.inbound.web", inbound: &in}}
	it.input = run.Input{ID: fmt.Sprint("m", rand.IntN(n+1)), Subject: it.origin.subject, Seq: uint64(rand.IntN(n + 1))}
	if rand.IntN(3) > 0 {
		it.delivery = &delivery.Delivery{}
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
		m := &mailbox{total: new(atomic.Int64)}
		for n := range 60 {
			before := slices.Clone(m.queue)
			some := func() *item { return before[rand.IntN(len(before))] }
			op := rand.IntN(7)
			if len(before) == 0 {
				op = 0
			}
			switch op {
			case 0, 1:
				it := randomItem(n)
				m.insert(m.lastTurn(it), it)
				if len(m.queue) != len(before)+1 || !slices.Contains(m.queue, it) {
					t.Fatal("what was put in is not there")
				}
			case 2:
				it := some()
				if !m.remove(it) || m.remove(it) {
					t.Fatal("want it removed once")
				}
			case 3:
				k := rand.IntN(len(before) + 1)
				if got := m.removeFirst(k); !slices.Equal(append(got, m.queue...), before) {
					t.Fatal("what was taken and what is left are not what there was")
				}
			case 4:
				m.move(some(), place(rand.IntN(int(places))))
			case 5:
				m.shift(rand.IntN(len(before)), 0)
			case 6:
				front := randomItem(n)
				front.delivery = &delivery.Delivery{}
				m.restart([]*item{front})
				if m.queue[0] != front || slices.ContainsFunc(m.queue, func(it *item) bool { return it.delivery == nil || it.place != held }) {
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
		m := &mailbox{total: new(atomic.Int64)}
		for seq := range 10 {
			it := randomItem(100)
			it.delivery, it.input.Seq, it.input.ID = &delivery.Delivery{}, uint64(2*seq), fmt.Sprint("m", 2*seq)
			m.insert(len(m.queue), it)
		}
		var waiting []run.Input
		for _, seq := range rand.Perm(20)[:5] {
			waiting = append(waiting, run.Input{ID: fmt.Sprint("m", seq), Subject: "plugin.inbound.web", Seq: uint64(seq), Envelope: []byte(`{}`)})
		}
		m.merge(waiting, func(in run.Input) *item {
			it, err := loggedItem(in)
			if err != nil {
				t.Fatal(err)
			}
			return it
		})
		m.check(t)
		if !slices.IsSortedFunc(m.queue, func(a, b *item) int { return int(a.input.Seq) - int(b.input.Seq) }) {
			t.Fatal("the queue is not in the order in which its messages came")
		}
		if m.count[logged] != len(waiting) {
			t.Fatalf("%d are logged, want %d", m.count[logged], len(waiting))
		}
	}
}
