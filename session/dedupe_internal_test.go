package session

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIDs(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
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

// A flood of refused messages takes the room of one id, is found by sequence and
// survives being written down.
func TestIDsRefused(t *testing.T) {
	t.Parallel()
	var s ids
	s.set("before", 1)
	for i := range uint64(3 * rememberIDs) {
		s.refuse(100, 100+i, 10+i)
	}
	s.set("between", 2)
	s.refuse(50_000, 50_000, 7)
	var again ids
	again.restore(s.list())
	for name, s := range map[string]*ids{"as it was": &s, "read again": &again} {
		if _, ok := s.get("before"); !ok || len(s.list()) != 4 {
			t.Errorf("%s: got %d entries, the first id known: %t", name, len(s.list()), ok)
		}
		for seq, want := range map[uint64]uint64{99: 0, 100: 30_009, 20_000: 30_009, 30_099: 30_009, 30_100: 0, 50_000: 7, 50_001: 0} {
			if got, ok := s.stretch(seq); got != want || ok != (want > 0) {
				t.Errorf("%s: sequence %d: got commit %d, %t, want %d", name, seq, got, ok, want)
			}
		}
	}
}

// Of the stretches too only the last are remembered.
func TestIDsForgetRefused(t *testing.T) {
	t.Parallel()
	var s ids
	for i := range uint64(rememberIDs + 5) {
		s.refuse(10*i, 10*i+1, i+1)
	}
	for i := range uint64(7) {
		if _, ok := s.stretch(10*i + 1); ok != (i >= 5) {
			t.Errorf("stretch %d: known: %t", i, ok)
		}
	}
	s.set("new", 1)
	if _, ok := s.stretch(51); ok {
		t.Error("the oldest is still known")
	}
	if seq, ok := s.get("new"); seq != 1 || !ok {
		t.Errorf("the newest: got %d, %t", seq, ok)
	}
}
