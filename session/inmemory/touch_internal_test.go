package inmemory

import (
	"testing"

	"agenthost/session"
)

// An entry can be dropped between finding it and getting the lock.
func TestTouchOfDropped(t *testing.T) {
	m := NewManager(Options[int]{})
	e, before := m.GetOrCreate("a"), m.dropped.Load()
	m.GetOrCreate("b")
	m.Delete("a")
	if m.touch(e, before) || len(m.recent) != 0 {
		t.Error("a dropped entry was touched")
	}
	if b := m.find("b"); m.idle.size != 1 || m.idle.first != b || m.idle.last != b {
		t.Error("the idle queue is not the one entry that is left")
	}
}

// However many touches there are, few are kept.
func TestRecentIsBounded(t *testing.T) {
	m := NewManager(Options[int]{})
	for _, key := range []session.Key{"a", "b", "c"} {
		m.GetOrCreate(key)
	}
	for i := range 10 * maxRecent {
		m.Get([]session.Key{"a", "b"}[i%2])
		if len(m.recent) >= maxRecent || cap(m.recent) > 2*maxRecent {
			t.Fatalf("after %d touches: %d kept, room for %d", i+1, len(m.recent), cap(m.recent))
		}
	}
	if m.idle.first.Key != "c" {
		t.Errorf("idle longest: got %s, want c", m.idle.first.Key)
	}
}
