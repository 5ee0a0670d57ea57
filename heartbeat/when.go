package heartbeat

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// errWhen says what a reminder understands.
var errWhen error = &fault{key: "remind_when"}

// ParseWhen reads when a reminder is due from the beginning of text, and
// returns what follows. Times of day are in zone; one that is past means
// tomorrow.
//
//	in 20m | in 1h30m | in 2d
//	18:00 | today 18:00 | tomorrow 9:00
//	2026-12-24 18:00 | 2026-12-24T18:00:00+01:00
//	every 2h
//	cron 0 8 * * 1-5
func ParseWhen(text string, now time.Time, zone *time.Location) (Spec, string, error) {
	words := strings.Fields(text)
	n, s, err := readWhen(words, now, zone)
	if err != nil {
		return Spec{}, "", err
	}
	return s, strings.Join(words[n:], " "), nil
}

// readWhen returns how many of the words it took.
func readWhen(words []string, now time.Time, zone *time.Location) (int, Spec, error) {
	if len(words) == 0 {
		return 0, Spec{}, errWhen
	}
	once := func(n int, t time.Time, err error) (int, Spec, error) {
		if err != nil {
			return 0, Spec{}, err
		}
		return n, Spec{At: t.Add(time.Second - 1).Truncate(time.Second).UTC().Format(time.RFC3339)}, nil
	}
	first, second := strings.ToLower(words[0]), ""
	if len(words) > 1 {
		second = words[1]
	}
	switch first {
	case "in":
		d, err := parseSpan(second)
		return once(2, now.Add(d), err)
	case "every":
		d, err := parseSpan(second)
		return 2, Spec{Every: d}, err
	case "cron":
		return readCron(words[1:], zone)
	case "today", "tomorrow":
		days := 0
		if first == "tomorrow" {
			days = 1
		}
		t, err := onClock(second, days, now, zone)
		return once(2, t, err)
	}
	if t, err := time.Parse(time.RFC3339, words[0]); err == nil {
		return once(1, t, nil)
	}
	if _, err := time.Parse(time.DateOnly, words[0]); err == nil {
		t, err := ParseAt(words[0]+" "+second, zone)
		return once(2, t, err)
	}
	t, err := onClock(words[0], 0, now, zone)
	if err == nil && !t.After(now) {
		t, err = onClock(words[0], 1, now, zone)
	}
	return once(1, t, err)
}

// readCron takes the five fields of a cron line.
func readCron(words []string, zone *time.Location) (int, Spec, error) {
	const fields = 5
	if len(words) < fields {
		return 0, Spec{}, errWhen
	}
	line := strings.Trim(strings.Join(words[:fields], " "), `"'`)
	if _, err := ParseCron(line); err != nil {
		return 0, Spec{}, fmt.Errorf("cron %q: %w", line, err)
	}
	return fields + 1, Spec{Cron: line, Timezone: zone.String()}, nil
}

// onClock is the time of day text, so many days after the day of now.
func onClock(text string, days int, now time.Time, zone *time.Location) (time.Time, error) {
	minute, err := minuteOf(text)
	if err != nil {
		return time.Time{}, errWhen
	}
	y, m, d := now.In(zone).Date()
	return time.Date(y, m, d+days, 0, minute, 0, 0, zone), nil
}

// parseSpan reads a span of time such as 20m, 1h30m or 2d.
func parseSpan(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n > 0 && n < 36500 {
			return time.Duration(n) * 24 * time.Hour, nil
		}
		return 0, errWhen
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errWhen
	}
	return d, nil
}
