package heartbeat

import (
	"testing"
	"time"
)

// While a machine sleeps its monotonic clock stands still, by which a reading is aged.
func TestSlept(t *testing.T) {
	for name, tt := range map[string]struct {
		monotonic, wall time.Duration
		want            bool
	}{
		"awake":                 {30 * time.Second, 30*time.Second + 20*time.Millisecond, false},
		"asleep for hours":      {30 * time.Second, 8 * time.Hour, true},
		"its clock is set back": {30 * time.Second, -time.Hour, false}, // the reading is right
	} {
		if got := slept(tt.monotonic, tt.wall); got != tt.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
