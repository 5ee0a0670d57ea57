package inmemory_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/google/go-cmp/cmp"

	"agenthost/session"
	"agenthost/session/inmemory"
)

// A model does what a Manager with a cap does, in the most naive way.
type model struct {
	most int
	work map[session.Key]int // pieces in flight, of each session there is
	idle []session.Key       // idle longest first
	gone []string
}

func (m *model) access(key session.Key, create bool, work int) {
	if _, ok := m.work[key]; !ok {
		if !create {
			return
		}
		m.evict(m.most - 1)
	}
	m.idle = without(m.idle, key)
	m.work[key] += work
	if m.work[key] == 0 {
		m.idle = append(m.idle, key)
	}
}

func (m *model) release(key session.Key) {
	m.access(key, false, -1)
	m.evict(m.most)
}

func (m *model) delete(key session.Key) {
	if work, ok := m.work[key]; ok && work == 0 {
		m.drop(key, inmemory.Deleted)
	}
}

func (m *model) evict(most int) {
	for len(m.work) > most && len(m.idle) > 0 {
		m.drop(m.idle[0], inmemory.Cap)
	}
}

func (m *model) drop(key session.Key, reason inmemory.Reason) {
	m.idle = without(m.idle, key)
	delete(m.work, key)
	m.gone = append(m.gone, fmt.Sprintf("%s %s", key, reason))
}

func without(keys []session.Key, key session.Key) []session.Key {
	return slices.DeleteFunc(keys, func(k session.Key) bool { return k == key })
}

// Whatever is done, and however many touches there are between two things that
// act on the order: the same go, in the same order, as from the naive model.
func TestOrder(t *testing.T) {
	tests := map[string]struct {
		sessions int // to choose from; the cap is 100
		touches  int // of a thousand calls, the rest is of all other kinds
	}{
		"few touches":    {150, 300},
		"many touches":   {150, 900},
		"hardly else":    {150, 980},
		"all fit":        {90, 900},
		"few, touched":   {5, 950},
		"rarely evicted": {101, 950},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { compareOrder(t, tt.sessions, tt.touches) })
	}
}

func compareOrder(t *testing.T, sessions, touches int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, uint64(touches)))
		want := model{most: 100, work: make(map[session.Key]int)}
		var gone drops
		m := inmemory.NewManager(inmemory.Options[int]{Max: &want.most, OnExpire: gone.add})
		stop := start(t, m)
		for i := range 20_000 {
			key := session.Key(fmt.Sprint(rng.IntN(sessions)))
			switch {
			case i < 2*sessions:
				m.GetOrCreate(key)
				want.access(key, true, 0)
			case rng.IntN(1000) < touches:
				m.Get(key)
				want.access(key, false, 0)
			case rng.IntN(10) == 0:
				if want.work[key] == 0 {
					m.Delete(key)
					want.delete(key)
				}
			case rng.IntN(2) == 0:
				m.GetOrCreate(key)
				want.access(key, true, 0)
			case want.work[key] > 0:
				e, _ := m.Get(key)
				e.Release()
				want.release(key)
			case len(want.work)-len(want.idle) < 50:
				m.Acquire(key)
				want.access(key, true, 1)
			}
			if got := gone.take(); !slices.Equal(got, want.gone) {
				t.Fatalf("call %d: dropped %v, want %v", i, got, want.gone)
			}
			want.gone = nil
		}
		if got := m.InFlight(); got != len(want.work)-len(want.idle) {
			t.Errorf("in flight: got %d, want %d", got, len(want.work)-len(want.idle))
		}
		stop()
		var left []string
		for _, key := range want.idle {
			left = append(left, string(key)+" shutdown")
		}
		if diff := cmp.Diff(left, gone.take()[:len(left)]); diff != "" {
			t.Errorf("left idle (-want +got):\n%s", diff)
		}
	})
}

// A touch counts from when it was, not from when somebody looks at the order.
func TestTouchKeepsItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var gone drops
		m := inmemory.NewManager(inmemory.Options[int]{TTL: time.Minute, OnExpire: gone.add})
		perform(m, "a b")
		time.Sleep(30 * time.Second)
		perform(m, "?b")
		time.Sleep(30 * time.Second)
		start(t, m)
		synctest.Wait()
		if diff := cmp.Diff([]string{"a ttl"}, gone.take()); diff != "" {
			t.Errorf("after a minute (-want +got):\n%s", diff)
		}
		time.Sleep(30 * time.Second)
		synctest.Wait()
		if diff := cmp.Diff([]string{"b ttl"}, gone.take()); diff != "" {
			t.Errorf("half a minute later (-want +got):\n%s", diff)
		}
	})
}

// The Manager's notes of touches do not keep a session that is gone.
func TestDroppedIsFreed(t *testing.T) {
	m := inmemory.NewManager(inmemory.Options[int]{})
	gone := weak.Make(m.GetOrCreate("a"))
	for range 10 {
		m.Get("a")
	}
	m.Delete("a")
	runtime.GC()
	if gone.Value() != nil {
		t.Error("the entry is still in memory")
	}
	runtime.KeepAlive(m)
}

// Most agents of a large fleet have no session.
func TestUnusedIsSmall(t *testing.T) {
	const n, most = 1000, 600
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range n {
		inmemory.NewManager(inmemory.Options[*int]{}).Get("a")
	}
	runtime.ReadMemStats(&after)
	if got := (after.TotalAlloc - before.TotalAlloc) / n; got > most {
		t.Errorf("a Manager without sessions takes %d bytes, want at most %d", got, most)
	}
}
