package sharedids

import (
	"fmt"
	"testing"
	"time"
)

func TestIDsOfSeveralSessions(t *testing.T) {
	t.Parallel()
	s := New()
	for i, tt := range []struct {
		use    Use
		other  string
		shared bool
	}{
		{Use{"1", "a", 1}, "", false},
		{Use{"1", "a", 1}, "a", false}, // redelivered
		{Use{"1", "b", 1}, "a", false}, // the same message, of another agent
		{Use{"1", "a", 2}, "a", false}, // sent again after the window
		{Use{"1", "b", 3}, "a", true},
		{Use{"2", "b", 4}, "", false},
	} {
		if other, shared := s.Look(tt.use); string(other) != tt.other || shared != tt.shared {
			t.Errorf("%d: got %q %t, want %q %t", i, other, shared, tt.other, tt.shared)
		}
	}
	now := time.Now()
	if !s.Due(now) || s.Due(now.Add(every-1)) || !s.Due(now.Add(every)) {
		t.Error("it is not told once a second")
	}
}

func BenchmarkLook(b *testing.B) {
	s := New()
	ids := make([]string, 1<<14)
	for i := range ids {
		ids[i] = fmt.Sprintf("telegram.sales:-10012:%d", i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.Look(Use{ids[i%len(ids)], "telegram.sales/group/-10012", uint64(i)})
	}
}
