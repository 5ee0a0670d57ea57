package agents

import (
	"fmt"
	"testing"
	"time"
)

func TestSharedIDs(t *testing.T) {
	t.Parallel()
	s := newSharedIDs()
	for i, tt := range []struct {
		use    idUse
		other  string
		shared bool
	}{
		{idUse{"1", "a", 1}, "", false},
		{idUse{"1", "a", 1}, "a", false}, // redelivered
		{idUse{"1", "b", 1}, "a", false}, // the same message, of another agent
		{idUse{"1", "a", 2}, "a", false}, // sent again after the window
		{idUse{"1", "b", 3}, "a", true},
		{idUse{"2", "b", 4}, "", false},
	} {
		if other, shared := s.look(tt.use); string(other) != tt.other || shared != tt.shared {
			t.Errorf("%d: got %q %t, want %q %t", i, other, shared, tt.other, tt.shared)
		}
	}
	now := time.Now()
	if !s.due(now) || s.due(now.Add(sharedEvery-1)) || !s.due(now.Add(sharedEvery)) {
		t.Error("it is not told once a second")
	}
}

func BenchmarkSharedIDs(b *testing.B) {
	s := newSharedIDs()
	ids := make([]string, 1<<14)
	for i := range ids {
		ids[i] = fmt.Sprintf("telegram.sales:-10012:%d", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.look(idUse{ids[i%len(ids)], "telegram.sales/group/-10012", uint64(i)})
	}
}
