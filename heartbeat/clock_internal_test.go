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

// On the day on which the clocks go on, a time of the next day is what was said, also where today's
// clocks do not show it.
func TestTomorrowAfterAChangeOfTheClocks(t *testing.T) {
	zone, err := Zone("Europe/Paris")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"tomorrow 2:30", "2:30"} {
		now := time.Date(2026, 3, 29, 12, 0, 0, 0, zone)
		s, _, err := ParseWhen(text, now, zone)
		if want := "2026-03-30T00:30:00Z"; err != nil || s.At != want {
			t.Errorf("%s: got %s, %v, want %s", text, s.At, err, want)
		}
	}
}
