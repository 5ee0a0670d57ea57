package outbox_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"

	"agenthost/agents/internal/outbox"
	"agenthost/agents/internal/tracing"
	"agenthost/run"
)

// A stream stores what is posted, some of it later by another goroutine.
type stream struct {
	out     *outbox.Outbox
	later   sync.WaitGroup
	refuses string // the reply that it does not store

	mu     sync.Mutex
	stored []string
	posted int // how often nothing was left
}

func (s *stream) Post(reply *run.Reply, _ tracing.Context) (waits bool) {
	if reply.ID == s.refuses {
		s.later.Go(func() { s.out.Stored(false, s) })
		return true
	}
	s.mu.Lock()
	s.stored = append(s.stored, reply.ID)
	s.mu.Unlock()
	if rand.IntN(2) == 0 {
		return false
	}
	s.later.Go(func() { s.out.Stored(true, s) })
	return true
}

func (s *stream) Posted() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.posted++
}

// fill sends batches of up to three replies, and returns the ids in their order. ended
// takes what End was called with, and the ids of the batch.
func (s *stream) fill(batches int, ended func(n int, of []string, stored bool)) (ids []string) {
	for n := range batches {
		b, own := &outbox.Batch{}, len(ids)
		for range rand.IntN(4) {
			id := strconv.Itoa(len(ids))
			ids = append(ids, id)
			b.Replies = append(b.Replies, &run.Reply{ID: id})
		}
		of := slices.Clone(ids[own:])
		b.End = func(stored bool) { ended(n, of, stored) }
		s.out.Send(b, s)
	}
	return ids
}

func TestOutboxKeepsTheOrderAndEndsEachBatchOnce(t *testing.T) {
	t.Parallel()
	for range 200 {
		s := &stream{out: &outbox.Outbox{}}
		var mu sync.Mutex
		var ended []int
		ids := s.fill(20, func(n int, _ []string, stored bool) {
			mu.Lock()
			defer mu.Unlock()
			if !stored {
				t.Errorf("batch %d: not stored", n)
			}
			ended = append(ended, n)
		})
		s.later.Wait()
		if !slices.Equal(s.stored, ids) {
			t.Fatalf("stored %v, want %v", s.stored, ids)
		}
		if len(ended) != 20 || !slices.IsSorted(ended) {
			t.Fatalf("ended %v, want 20 batches in order", ended)
		}
		if s.out.Sending() || s.posted == 0 {
			t.Fatal("it is not empty at the end, or does not say so")
		}
	}
}

func TestOutboxGivesUpWhatIsNotStored(t *testing.T) {
	t.Parallel()
	for range 200 {
		s := &stream{out: &outbox.Outbox{}, refuses: "3"}
		var mu sync.Mutex
		ended := map[int]int{}
		s.fill(20, func(n int, of []string, stored bool) {
			mu.Lock()
			defer mu.Unlock()
			ended[n]++
			if stored && slices.Contains(of, s.refuses) {
				t.Errorf("batch %d counts as stored, with a reply that was refused", n)
			}
		})
		s.later.Wait()
		for n := range 20 {
			if ended[n] != 1 {
				t.Fatalf("batch %d ended %d times, want once", n, ended[n])
			}
		}
		if s.out.Sending() {
			t.Fatal("it still sends")
		}
	}
}

// slow is a stream that stores when it is told to.
type slow struct{ posted []string }

func (s *slow) Post(reply *run.Reply, _ tracing.Context) bool {
	s.posted = append(s.posted, reply.ID)
	return true
}

func (s *slow) Posted() {}

func TestOnTheirWay(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]bool{"stored": true, "given up": false} {
		t.Run(name, func(t *testing.T) {
			var out outbox.Outbox
			var to slow
			want := func(ids ...string) {
				t.Helper()
				var got []string
				for _, r := range out.OnTheirWay() {
					got = append(got, r.ID)
				}
				if !slices.Equal(got, ids) {
					t.Errorf("got %v, want %v", got, ids)
				}
			}
			want()
			for _, ids := range [][]string{{"1", "2"}, {}, {"3"}} {
				b := &outbox.Batch{End: func(bool) {}}
				for _, id := range ids {
					b.Replies = append(b.Replies, &run.Reply{ID: id})
				}
				out.Send(b, &to)
			}
			want("1", "2", "3")
			out.Stored(true, &to)
			want("2", "3")
			out.Stored(true, &to)
			want("3")
			out.Stored(stored, &to)
			want()
		})
	}
}
