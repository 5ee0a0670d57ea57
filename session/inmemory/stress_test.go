package inmemory_test

import (
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/session"
	"agenthost/session/inmemory"
)

// life is what one entry has been through.
type life struct{ working, dropped atomic.Int32 }

// Many goroutines use few sessions in every way while entries are evicted,
// expire and are deleted. None is dropped in flight, each is dropped once.
func TestConcurrentUse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var made, dropped atomic.Int64
		m := inmemory.NewManager(inmemory.Options[*life]{
			TTL: time.Second,
			Max: new(8),
			New: func(session.Key) *life { made.Add(1); return new(life) },
			OnExpire: func(key session.Key, l *life, reason inmemory.Reason) {
				dropped.Add(1)
				if l.dropped.Add(1) != 1 {
					t.Errorf("%s is dropped twice", key)
				}
				if n := l.working.Load(); n != 0 {
					t.Errorf("%s is dropped (%s) with %d pieces of work in flight", key, reason, n)
				}
			},
		})
		stop := start(t, m)
		var workers sync.WaitGroup
		for range 8 {
			workers.Go(func() { useAtRandom(m, 1000) })
		}
		workers.Wait()
		if got := m.InFlight(); got != 0 {
			t.Errorf("InFlight: got %d, want 0", got)
		}
		if got := m.Len(); got > 8 {
			t.Errorf("Len: got %d, want 8 at most", got)
		}
		stop()
		if made.Load() != dropped.Load() {
			t.Errorf("got %d entries made and %d dropped, want as many", made.Load(), dropped.Load())
		}
	})
}

func useAtRandom(m *inmemory.Manager[*life], times int) {
	for range times {
		key := session.Key(strconv.Itoa(rand.IntN(24)))
		switch rand.IntN(12) {
		case 0:
			m.Delete(key)
		case 1:
			m.Get(key)
		case 2:
			m.GetOrCreate(key)
		case 3:
			for range m.All() {
			}
		case 4:
			time.Sleep(time.Duration(rand.IntN(int(time.Second))))
		default:
			e := m.Acquire(key)
			e.Value.working.Add(1)
			time.Sleep(time.Duration(rand.IntN(2)) * time.Millisecond)
			e.Value.working.Add(-1)
			e.Release()
		}
	}
}
