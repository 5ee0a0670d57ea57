package heartbeat_test

import (
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
	lines := map[string]func(hour, minute int) bool{
		"0 8 * * *":    func(h, m int) bool { return h == 8 && m == 0 },
		"30 2 * * *":   func(h, m int) bool { return h == 2 && m == 30 },
		"0 0 * * *":    func(h, m int) bool { return h == 0 && m == 0 },
		"15 0 * * *":   func(h, m int) bool { return h == 0 && m == 15 },
		"0,45 1 * * *": func(h, m int) bool { return h == 1 && (m == 0 || m == 45) },
		"30 23 * * *":  func(h, m int) bool { return h == 23 && m == 30 },
		"30 * * * *":   func(_, m int) bool { return m == 30 }, // also in an hour that is there twice
	}
	for _, name := range changingZones {
		zone, err := heartbeat.Zone(name)
		if err != nil {
			t.Fatal(err)
		}
		for change := range changesOf(zone, time.Date(2026, 1, 1, 0, 0, 0, 0, zone), 4) {
			from, to := change.Add(-36*time.Hour), change.Add(36*time.Hour)
			minutes := minutesOf(zone, from, to)
			for line, fires := range lines {
				spec := heartbeat.Spec{Cron: line, Timezone: name}
				timer, err := spec.Timer("ana.test")
				if err != nil {
					t.Fatal(err)
				}
				var want, got []string
				for _, m := range minutes {
					if fires(m.Hour(), m.Minute()) && (!m.again || line == "30 * * * *") {
						want = append(want, m.Format(time.RFC3339))
					}
				}
				for at := timer.Next(from); !at.After(to); at = timer.Next(at) {
					got = append(got, at.In(zone).Format(time.RFC3339))
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s in %s around %s:\ngot  %v\nwant %v", line, name, change.In(zone), got, want)
				}
			}
		}
	}
}

// A shownMinute is what the clocks of a zone show, again where they have been set back.
type shownMinute struct {
	time.Time
	again bool
}

// minutesOf are those after a time, up to another.
func minutesOf(zone *time.Location, from, to time.Time) (list []shownMinute) {
	shown := map[string]bool{}
	for at := from.Add(time.Minute); !at.After(to); at = at.Add(time.Minute) {
		clock := at.In(zone)
		text := clock.Format(time.DateTime)
		list = append(list, shownMinute{clock, shown[text]})
		shown[text] = true
	}
	return list
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
