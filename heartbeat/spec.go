package heartbeat

import (
	"errors"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // zones must not depend on the machine
)

// A Spec says when. Exactly one of Cron, Every, At and Window is set.
type Spec struct {
	Cron string `yaml:"cron,omitempty" json:"cron,omitempty"` // five fields, or six with the seconds first
	// Every counts from 1970 on: 1h is on the hour, whenever it was configured.
	Every    time.Duration `yaml:"every,omitempty" json:"every,omitempty"`
	At       string        `yaml:"at,omitempty" json:"at,omitempty"`         // RFC 3339, or "2026-12-24 18:00", also with seconds, in Timezone
	Window   string        `yaml:"window,omitempty" json:"window,omitempty"` // "08:00-10:00": once a day at a minute inside
	Timezone string        `yaml:"timezone,omitempty" json:"timezone,omitempty"`
}

// String is the spec in words, without its zone.
func (s Spec) String() string {
	switch {
	case s.Cron != "":
		return "cron " + s.Cron
	case s.Every > 0:
		return "every " + shortSpan(s.Every)
	case s.Window != "":
		return "window " + s.Window
	default:
		return "at " + s.At
	}
}

// shortSpan is d without the zeros that Duration.String ends in.
func shortSpan(d time.Duration) string {
	text := d.String()
	if d >= time.Minute {
		text = strings.TrimSuffix(text, "0s")
	}
	if d >= time.Hour {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// repeats reports whether it fires more than once.
func (s Spec) repeats() bool { return s.At == "" }

// Zone is the zone of a spec: an IANA name, or UTC for none.
func Zone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" { // LoadLocation's word for the machine's own
		return nil, fmt.Errorf("time zone %q is unknown; want an IANA name, such as Europe/Paris", name)
	}
	return zone, nil
}

// toSunday is a range of days that ends in the Sunday that is 7.
var toSunday = regexp.MustCompile(`^([0-7])-7(/[1-7])?$`)

// atLayouts are of times in the zone of their spec.
var atLayouts = []string{"2006-01-02 15:04", time.DateTime}

// ParseAt reads the time of an At.
func ParseAt(text string, zone *time.Location) (time.Time, error) {
	if t, err := time.Parse(time.RFC3339, text); err == nil {
		return t, nil
	}
	for _, layout := range atLayouts {
		if t, err := time.ParseInLocation(layout, text, zone); err == nil {
			return t, nil
		}
	}
	return time.Time{}, errors.New(`want a time such as "2027-01-31 08:00", in the timezone, or 2027-01-31T08:00:00+01:00`)
}

// ParseWindow reads the ends of a Window, in minutes from midnight. A window
// that ends before it begins ends on the next day.
func ParseWindow(text string) (from, to int, err error) {
	first, last, ok := strings.Cut(text, "-")
	from, errFrom := minuteOf(strings.TrimSpace(first))
	to, errTo := minuteOf(strings.TrimSpace(last))
	if !ok || errFrom != nil || errTo != nil || from == to {
		return 0, 0, errors.New(`want two times of day, such as "08:00-10:00"`)
	}
	if to < from {
		to += 24 * 60
	}
	return from, to, nil
}

func minuteOf(text string) (int, error) {
	t, err := time.Parse("15:04", text)
	return t.Hour()*60 + t.Minute(), err
}

// A Timer computes when a spec fires.
type Timer struct {
	// Next is the first firing after a time, zero when there is none.
	Next func(after time.Time) time.Time
}

// Timer makes the timer of the spec of a schedule. key names the schedule: it
// decides the minutes of a window.
func (s Spec) Timer(key string) (Timer, error) {
	zone, err := Zone(s.Timezone)
	if err != nil {
		return Timer{}, err
	}
	switch {
	case s.Cron != "":
		line, err := ParseCron(s.Cron)
		if err != nil {
			return Timer{}, fmt.Errorf("cron %q: %w", s.Cron, err)
		}
		return Timer{func(after time.Time) time.Time { return nextLine(line, after.In(zone)) }}, nil
	case s.Every >= time.Second:
		return Timer{func(after time.Time) time.Time { return gridAfter(after, s.Every, 0) }}, nil
	case s.Window != "":
		from, to, err := ParseWindow(s.Window)
		if err != nil {
			return Timer{}, fmt.Errorf("window %q: %w", s.Window, err)
		}
		return Timer{window{key, from, to, zone}.next}, nil
	case s.At != "":
		at, err := ParseAt(s.At, zone)
		if err != nil {
			return Timer{}, fmt.Errorf("at %q: %w", s.At, err)
		}
		return Timer{func(after time.Time) time.Time {
			if at.After(after) {
				return at
			}
			return time.Time{}
		}}, nil
	}
	return Timer{}, errors.New("it has none of cron, every (1s or more), at and window")
}

// everyHour is the mark of a cron line for an hour that is written as *.
const everyHour = 1 << 63

// gridAfter is the first time after t on the grid that has a point phase after
// 1970 began and one every interval.
func gridAfter(t time.Time, interval, phase time.Duration) time.Time {
	since := t.UnixNano() - int64(phase)
	steps := since / int64(interval)
	if since < 0 && since%int64(interval) != 0 {
		steps--
	}
	return time.Unix(0, (steps+1)*int64(interval)+int64(phase)).UTC()
}

// A window fires once a day, at a minute that looks like chance and is the same
// on every host.
type window struct {
	key      string
	from, to int // minutes of the day
	zone     *time.Location
}

func (w window) next(after time.Time) time.Time {
	y, m, d := after.In(w.zone).Date()
	for day := d - 1; ; day++ { // the window of yesterday may reach into today
		if t := w.on(y, m, day); t.After(after) {
			return t
		}
	}
}

func (w window) on(y int, m time.Month, d int) time.Time {
	date := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	h := fnv.New64a()
	_, _ = h.Write([]byte(w.key + " " + date)) // never fails
	minute := w.from + int(mixed(h.Sum64())%uint64(w.to-w.from))
	return time.Date(y, m, d, 0, minute, 0, 0, w.zone)
}

// mixed spreads what differs in the last letters of a hashed text over all bits.
func mixed(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return x
}
