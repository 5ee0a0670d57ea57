package heartbeat_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"agenthost/heartbeat"
)

// changingZones change their clocks by half an hour, an hour or two, at midnight or later, and
// Casablanca four times in its year.
var changingZones = []string{
	"Africa/Cairo", "Africa/Casablanca", "America/Havana", "America/New_York", "America/Nuuk", "America/Santiago",
	"Antarctica/Troll", "Asia/Beirut", "Asia/Gaza", "Atlantic/Azores", "Australia/Lord_Howe", "Europe/Dublin",
	"Europe/Paris", "Pacific/Chatham", "Pacific/Easter",
}

// TestChangesOfTheClocks compares what a cron line fires with what each minute of the clocks
// says, on the days around each change.
func TestChangesOfTheClocks(t *testing.T) {
	const everyMinute = -1
	lines := []struct {
		minutes []int
		hour    int
	}{{[]int{0}, 8}, {[]int{30}, 2}, {[]int{0}, 0}, {[]int{15}, 0}, {[]int{45}, 1}, {[]int{0, 30}, 1}, {[]int{30}, 23}, {[]int{30}, everyMinute}}
	for _, name := range changingZones {
		zone, err := heartbeat.Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		for change := range changesOf(zone, time.Date(2026, 1, 1, 0, 0, 0, 0, zone), 4) {
			for _, line := range lines {
				hour := fmt.Sprint(line.hour)
				if line.hour == everyMinute {
					hour = "*"
				}
				minutes := fmt.Sprint(line.minutes[0])
				for _, m := range line.minutes[1:] {
					minutes += fmt.Sprint(",", m)
				}
				spec := heartbeat.Spec{Cron: minutes + " " + hour + " * * *", Timezone: name}
				timer, err := spec.Timer("ana.test")
				if err != nil {
					t.Fatal(err)
				}
				from, to := change.Add(-36*time.Hour), change.Add(36*time.Hour)
				var want, got []string
				shown := map[string]bool{}
				for at := from.Add(time.Minute); !at.After(to); at = at.Add(time.Minute) {
					clock := at.In(zone)
					again := shown[clock.Format(time.DateTime)] && line.hour != everyMinute
					shown[clock.Format(time.DateTime)] = true
					if slices.Contains(line.minutes, clock.Minute()) && (line.hour == everyMinute || clock.Hour() == line.hour) && !again {
						want = append(want, clock.Format(time.RFC3339))
					}
				}
				for at := timer.Next(from); !at.After(to); at = timer.Next(at) {
					got = append(got, at.In(zone).Format(time.RFC3339))
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s in %s around %s:\ngot  %v\nwant %v", spec.Cron, name, change.In(zone), got, want)
				}
			}
		}
	}
}

// changesOf yields when the clocks of a zone change, n times at most.
func changesOf(zone *time.Location, after time.Time, n int) func(func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		for range n {
			_, end := after.In(zone).ZoneBounds()
			if end.IsZero() || !yield(end) {
				return
			}
			after = end
		}
	}
}
