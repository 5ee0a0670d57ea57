package delivery_test

import (
	"testing"
	"time"

	"agenthost/bus/delivery"
)

func TestBrake(t *testing.T) {
	t.Parallel()
	b := &delivery.Brake{}
	const µs, ms = time.Microsecond, time.Millisecond
	for i, tt := range []struct {
		do   func()
		want time.Duration
	}{
		{b.Ease, 0}, {b.Harder, 250 * µs}, {b.Harder, 500 * µs}, {b.Harder, ms}, {b.Ease, 500 * µs}, {b.Ease, 250 * µs}, {b.Ease, 0},
	} {
		tt.do()
		if got := b.Pause(); got != tt.want {
			t.Errorf("step %d: got %v, want %v", i, got, tt.want)
		}
	}
	for range 100 {
		b.Harder()
	}
	if got := b.Pause(); got != 16*ms || !b.Longest() {
		t.Errorf("got %v at most, longest %v, want 16ms", got, b.Longest())
	}
}
