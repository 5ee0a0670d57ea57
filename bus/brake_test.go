package bus_test

import (
	"testing"
	"time"

	"agenthost/bus"
)

func TestBrake(t *testing.T) {
	t.Parallel()
	b := &bus.Brake{}
	for _, tt := range []struct{ set, want time.Duration }{
		{0, 0}, {bus.FirstBrake, 250 * time.Microsecond}, {time.Hour, 16 * time.Millisecond}, {0, 0},
	} {
		b.Set(tt.set)
		if got := b.Pause(); got != tt.want {
			t.Errorf("set to %v: got %v, want %v", tt.set, got, tt.want)
		}
	}
}
