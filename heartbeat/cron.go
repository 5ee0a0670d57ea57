package heartbeat

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata"

	"github.com/robfig/cron/v3"
)

var cronFields = cron.NewParser(cron.SecondOptional | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)

// ParseCron checks a cron line.
func ParseCron(line string) (cron.Schedule, error) {
	const want = `want five or six fields, such as "0 8 * * 1-5"`
	if strings.Contains(line, "TZ=") {
		return nil, errors.New("a zone in cron; want it as timezone")
	}
	if strings.HasPrefix(line, "@") {
		return nil, errors.New(want)
	}
	schedule, err := cronFields.Parse(sundayAsZero(line))
	if err != nil {
		return nil, errors.New(wrongFields(line) + want)
	}
	if schedule.Next(time.Now().UTC()).IsZero() {
		return nil, errors.New("a day that never comes; " + want)
	}
	return schedule, nil
}

// wrongFields names the fields of a cron line that are wrong in themselves; it
// is empty when the number of fields is.
func wrongFields(line string) string {
	names := []string{"second", "minute", "hour", "day of the month", "month", "day of the week"}
	fields := strings.Fields(sundayAsZero(line))
	if len(fields) == len(names)-1 {
		names = names[1:]
	}
	if len(fields) != len(names) {
		return ""
	}
	var wrong []string
	for i, field := range fields {
		alone := slices.Repeat([]string{"*"}, len(fields))
		alone[i] = field
		if _, err := cronFields.Parse(strings.Join(alone, " ")); err != nil {
			wrong = append(wrong, fmt.Sprintf("no %s %q", names[i], field))
		}
	}
	if len(wrong) == 0 {
		return ""
	}
	return "there is " + strings.Join(wrong, " and ") + "; "
}

// sundayAsZero writes the Sunday that is 7, as crontab has it too, as the parser
// knows it.
func sundayAsZero(line string) string {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return line
	}
	days := strings.Split(fields[len(fields)-1], ",")
	for i, day := range days {
		if day == "7" {
			days[i] = "0"
		} else if m := toSunday.FindStringSubmatch(day); m != nil {
			days[i] = daysToSunday(m[1], m[2])
		}
	}
	fields[len(fields)-1] = strings.Join(days, ",")
	return strings.Join(fields, " ")
}

// daysToSunday are the days of a range, one by one; its end begins the week.
func daysToSunday(from, step string) string {
	first, _ := strconv.Atoi(from)
	by, _ := strconv.Atoi(strings.TrimPrefix(step, "/"))
	var days []string
	for day := first; day <= 7; day += max(by, 1) {
		days = append(days, strconv.Itoa(day%7))
	}
	return strings.Join(days, ",")
}

// nextLine is the first firing of a cron line after t, in the zone of t. An hour that the
// clocks repeat counts once, unless the line means every hour.
//
// The line is matched from one change of the clocks to the next, as if they never changed.
// The library takes each change for one of a whole hour, and leaves out days where it is not.
func nextLine(line cron.Schedule, t time.Time) time.Time {
	fields, ok := line.(*cron.SpecSchedule)
	repeats := ok && fields.Hour&everyHour != 0
	for here := t; ; { // here is a time between the same changes
		_, end := here.ZoneBounds()
		_, offset := here.Zone()
		next := nextUnchanged(line, t, offset)
		switch {
		case next.IsZero():
			return next
		case !end.IsZero() && !next.Before(end):
			here, t = end, end.Add(-time.Second)
		case repeats || !repeated(next):
			return next
		default:
			t = next
		}
	}
}

// nextUnchanged is the first firing after t by clocks that are always offset seconds ahead of UTC.
func nextUnchanged(line cron.Schedule, t time.Time, offset int) time.Time {
	ahead := time.Duration(offset) * time.Second
	next := line.Next(t.UTC().Add(ahead))
	if next.IsZero() {
		return next
	}
	return next.Add(-ahead).In(t.Location())
}

// repeated reports whether the clocks showed the time of t before, and were then set back.
func repeated(t time.Time) bool {
	start, _ := t.ZoneBounds()
	if start.IsZero() {
		return false
	}
	_, before := start.Add(-1).Zone()
	_, offset := t.Zone()
	return t.Sub(start) < time.Duration(before-offset)*time.Second
}
