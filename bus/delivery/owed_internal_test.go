package delivery

import (
	"testing"

	"github.com/nats-io/nats.go"
)

// A copy of a message that was on its way when this host acknowledged it is not owed; what was
// given up is, and all that comes once deliveries restart.
func TestCopyIsNotOwed(t *testing.T) {
	held := newHeldMessages()
	give := func(seq uint64) *Delivery {
		d := &Delivery{own: seq}
		d.msg.Store(&message{Msg: &nats.Msg{}})
		held.add(d)
		return d
	}
	want := func(what string, seq uint64) {
		t.Helper()
		if got := held.firstOwed(); got != seq {
			t.Errorf("%s: %d is owed, want %d", what, got, seq)
		}
	}
	one, two := give(1), give(2)
	want("given", 1)
	held.remove(one)
	want("acknowledged", 2)
	again := give(1)
	want("a copy", 2)
	two.left.Store(true)
	held.remove(two)
	want("given up", 2)
	two = give(2)
	want("given again", 2)
	held.remove(two)
	again.left.Store(true)
	held.remove(again)
	want("a copy that is given up", 0)
	held.begin(1)
	give(1)
	want("restarted", 1)
}
