package plugins

import "testing"

// What the last owner may have left holds back its own chats alone, until it is here and
// what waits behind it has gone.
func TestLeftoverHoldsItsChats(t *testing.T) {
	l := &leftover{
		keys: map[uint64]string{5: "ana", 6: "ana", 7: "bob"}, missing: map[string]int{"ana": 2, "bob": 1}, set: map[string]int{},
	}
	step := func(seq uint64, key string, want bool) {
		t.Helper()
		l.arrived(seq)
		if got := l.holds(&item{seq: seq, key: key}); got != want {
			t.Errorf("reply %d to %s is held: %v", seq, key, got)
		}
	}
	step(9, "cy", false)
	step(10, "ana", true)
	step(6, "ana", true)
	step(7, "bob", false)
	step(11, "bob", false)
	step(5, "ana", true) // behind it waits 6, which is to go out in its turn
	step(12, "ana", true)
	l.arrived(5) // once more
	if l.missing["ana"] != 0 {
		t.Errorf("%d of ana are missing", l.missing["ana"])
	}
	clear(l.set)
	step(13, "ana", false)
	var unknown *leftover
	unknown.arrived(1)
	if !unknown.holds(&item{seq: 1, key: "ana"}) {
		t.Error("without knowing what was left a reply goes out")
	}
}
