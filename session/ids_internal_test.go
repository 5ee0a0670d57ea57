package session

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIDs(t *testing.T) {
	for _, n := range []int{0, 1, scanUpTo, scanUpTo + 1, 100, rememberIDs, rememberIDs + 50} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var s ids
			for i := range n {
				s.set(fmt.Sprint(i), uint64(i))
			}
			s.check(t, n)
			var again ids
			again.set("from another life", 1)
			again.restore(s.list())
			again.check(t, n)
			if diff := cmp.Diff(s.list(), again.list()); diff != "" {
				t.Error(diff)
			}
			again.set("one more", 7)
			if _, ok := again.get(fmt.Sprint(n - rememberIDs)); ok {
				t.Error("the oldest is still known")
			}
			if seq, ok := again.get("one more"); !ok || seq != 7 {
				t.Errorf("the newest: got %d, %t, want 7", seq, ok)
			}
		})
	}
}

// check wants the last of the ids 0 to n, and no others.
func (s *ids) check(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		seq, ok := s.get(fmt.Sprint(i))
		if known := i >= n-rememberIDs; ok != known || known && seq != uint64(i) {
			t.Fatalf("id %d of %d: got %d, %t, want it known: %t", i, n, seq, ok, known)
		}
	}
	if got, want := len(s.list()), min(n, rememberIDs); got != want {
		t.Errorf("length: got %d, want %d", got, want)
	}
	if _, ok := s.get("never"); ok {
		t.Error("an id that never came is known")
	}
}

func TestIDsSetAgain(t *testing.T) {
	var s ids
	for range 3 {
		for i := range rememberIDs {
			s.set(fmt.Sprint(i), uint64(i+1))
		}
	}
	if len(s.list()) != rememberIDs || s.list()[0].ID != "0" {
		t.Errorf("got %d ids, the oldest %q, want %d, from 0", len(s.list()), s.list()[0].ID, rememberIDs)
	}
	if seq, _ := s.get("42"); seq != 43 {
		t.Errorf("got %d, want 43", seq)
	}
}
