package heartbeat_test

import (
	"testing"
	"time"

	"agenthost/heartbeat"

	"github.com/google/go-cmp/cmp"
)

// next are the first firings of a schedule after a time.
func next(t *testing.T, s heartbeat.Spec, after string, n int) []string {
	t.Helper()
	at, err := time.Parse(time.RFC3339, after)
	if err != nil {
		t.Fatal(err)
	}
	zone, err := heartbeat.Zone(s.Timezone)
	if err != nil {
		t.Fatal(err)
	}
	timer, err := s.Timer("ana.test")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for range n {
		if at = timer.Next(at); at.IsZero() {
			break
		}
		list = append(list, at.In(zone).Format(time.RFC3339))
	}
	return list
}

func TestSpecs(t *testing.T) {
	const zone = "Europe/Paris"
	tests := map[string]struct {
		spec  heartbeat.Spec
		after string
		want  []string
	}{
		"five fields": {
			heartbeat.Spec{Cron: "0 8 * * 1-5", Timezone: zone},
			"2026-11-20T12:00:00Z",
			[]string{"2026-11-23T08:00:00+01:00", "2026-11-24T08:00:00+01:00"},
		},
		"six fields": {
			heartbeat.Spec{Cron: "*/20 0 0 * * *"},
			"2026-11-20T12:00:00Z",
			[]string{"2026-11-21T00:00:00Z", "2026-11-21T00:00:20Z", "2026-11-21T00:00:40Z"},
		},
		// On the last Sunday of March the clocks of Paris go from 2 to 3: what is
		// due in the hour that is not there is left out on that day.
		"the hour that is not there": {
			heartbeat.Spec{Cron: "30 2 * * *", Timezone: zone},
			"2026-03-27T12:00:00Z",
			[]string{"2026-03-28T02:30:00+01:00", "2026-03-30T02:30:00+02:00"},
		},
		"hours around it": {
			heartbeat.Spec{Cron: "0 * * * *", Timezone: zone},
			"2026-03-29T00:00:00Z",
			[]string{"2026-03-29T03:00:00+02:00", "2026-03-29T04:00:00+02:00"},
		},
		// On the last Sunday of October they go from 3 back to 2: what is due in
		// that hour is due once, unless it is due every hour.
		"the hour that is there twice": {
			heartbeat.Spec{Cron: "30 2 * * *", Timezone: zone},
			"2026-10-24T12:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-26T02:30:00+01:00"},
		},
		"every hour around it": {
			heartbeat.Spec{Cron: "30 * * * *", Timezone: zone},
			"2026-10-25T00:00:00Z",
			[]string{"2026-10-25T02:30:00+02:00", "2026-10-25T02:30:00+01:00", "2026-10-25T03:30:00+01:00"},
		},
		// On Lord Howe they change by half an hour.
		"a day on which the clocks go on by half an hour": {
			heartbeat.Spec{Cron: "0 8 * * *", Timezone: "Australia/Lord_Howe"},
			"2026-10-02T22:00:00Z",
			[]string{"2026-10-04T08:00:00+11:00", "2026-10-05T08:00:00+11:00"},
		},
		"a day on which they go back by half an hour": {
			heartbeat.Spec{Cron: "45 1 * * *", Timezone: "Australia/Lord_Howe"},
			"2026-04-04T00:00:00Z",
			[]string{"2026-04-05T01:45:00+11:00", "2026-04-06T01:45:00+10:30"},
		},
		"the hour after that": {
			heartbeat.Spec{Cron: "0 2,8 * * *", Timezone: "Australia/Lord_Howe"},
			"2026-04-04T00:00:00Z",
			[]string{"2026-04-05T02:00:00+10:30", "2026-04-05T08:00:00+10:30", "2026-04-06T02:00:00+10:30"},
		},
		// At Troll they go back by two hours, from 3 to 1.
		"two hours that are there twice": {
			heartbeat.Spec{Cron: "30 1,2 * * *", Timezone: "Antarctica/Troll"},
			"2026-10-24T12:00:00Z",
			[]string{"2026-10-25T01:30:00+02:00", "2026-10-25T02:30:00+02:00", "2026-10-26T01:30:00Z"},
		},
		"no midnight": {
			heartbeat.Spec{Cron: "0 0,1 * * *", Timezone: "Africa/Cairo"},
			"2026-04-23T12:00:00Z",
			[]string{"2026-04-24T01:00:00+03:00", "2026-04-25T00:00:00+03:00"},
		},
		"a leap day": {
			heartbeat.Spec{Cron: "0 12 29 2 *", Timezone: zone},
			"2026-11-20T12:00:00Z",
			[]string{"2028-02-29T12:00:00+01:00", "2032-02-29T12:00:00+01:00"},
		},
		"every": {
			heartbeat.Spec{Every: 90 * time.Minute},
			"2026-11-20T12:00:01Z",
			[]string{"2026-11-20T13:30:00Z", "2026-11-20T15:00:00Z"},
		},
		"at, in its zone": {
			heartbeat.Spec{At: "2026-12-24 18:00", Timezone: zone},
			"2026-11-20T12:00:00Z",
			[]string{"2026-12-24T18:00:00+01:00"},
		},
		"at, with its zone": {
			heartbeat.Spec{At: "2026-12-24T18:00:00-05:00"},
			"2026-11-20T12:00:00Z",
			[]string{"2026-12-24T23:00:00Z"},
		},
		"at, with seconds": {
			heartbeat.Spec{At: "2026-12-24 18:00:56", Timezone: zone},
			"2026-11-20T12:00:00Z",
			[]string{"2026-12-24T18:00:56+01:00"},
		},
		"at, past": {heartbeat.Spec{At: "2026-11-20T12:00:00Z"}, "2026-11-20T12:00:00Z", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, next(t, tt.spec, tt.after, max(len(tt.want), 1))); diff != "" {
				t.Errorf("firings (-want +got):\n%s", diff)
			}
		})
	}
}

// Sunday is 0, 7 and sun.
func TestSundays(t *testing.T) {
	for days, same := range map[string]string{
		"7": "0", "1,7": "0,1", "5-7": "0,5,6", "1-7/2": "0,1,3,5", "7-7": "sun", "0-7/7": "0", "1-5,7": "0-5",
	} {
		got := next(t, heartbeat.Spec{Cron: "0 8 * * " + days}, "2026-11-20T12:00:00Z", 14)
		want := next(t, heartbeat.Spec{Cron: "0 8 * * " + same}, "2026-11-20T12:00:00Z", 14)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", days, diff)
		}
	}
	for _, line := range []string{"0 8 * * 8", "0 8 * * 7-1", "0 8 * * 77", "0 8 7 7 -7", "7", "7 7"} {
		if _, err := heartbeat.ParseCron(line); err == nil {
			t.Errorf("%q is accepted", line)
		}
	}
}

// A window has one firing a day, inside, not always at the same minute, also
// when it goes over midnight and when the clocks change.
func TestWindow(t *testing.T) {
	for window, hours := range map[string][2]int{"08:00-10:00": {8, 10}, "23:00-01:00": {23, 25}} {
		spec := heartbeat.Spec{Window: window, Timezone: "Europe/Paris"}
		days, minutes := map[string]bool{}, map[string]bool{}
		for _, text := range next(t, spec, "2026-01-01T12:00:00Z", 365) {
			at, err := time.Parse(time.RFC3339, text)
			if err != nil {
				t.Fatal(err)
			}
			hour := at.Hour()
			if hour < hours[0] {
				hour, at = hour+24, at.AddDate(0, 0, -1)
			}
			if hour < hours[0] || hour >= hours[1] {
				t.Errorf("%s: %s is not inside", window, text)
			}
			days[at.Format(time.DateOnly)] = true
			minutes[at.Format("15:04")] = true
		}
		if len(days) != 365 || len(minutes) < 90 {
			t.Errorf("%s: %d days, %d different minutes", window, len(days), len(minutes))
		}
	}
}

func TestParseWhen(t *testing.T) {
	zone := paris(t)
	now := time.Date(2026, 11, 21, 15, 30, 20, 0, zone)
	at := func(text string) heartbeat.Spec { return heartbeat.Spec{At: text} }
	tests := map[string]struct {
		want heartbeat.Spec
		rest string
	}{
		"in 20m call mum":                        {at("2026-11-21T14:50:20Z"), "call mum"},
		"in 1h30m x":                             {at("2026-11-21T16:00:20Z"), "x"},
		"In 2d x":                                {at("2026-11-23T14:30:20Z"), "x"},
		"18:00 go home":                          {at("2026-11-21T17:00:00Z"), "go home"},
		"9:00 stand-up":                          {at("2026-11-22T08:00:00Z"), "stand-up"},
		"tomorrow 9:00 x":                        {at("2026-11-22T08:00:00Z"), "x"},
		"today 23:15 x":                          {at("2026-11-21T22:15:00Z"), "x"},
		"2026-12-24 18:00 light  the candles":    {at("2026-12-24T17:00:00Z"), "light the candles"},
		"2026-12-24 18:00:56 x":                  {at("2026-12-24T17:00:56Z"), "x"},
		"2026-12-24T18:00:00+02:00 x":            {at("2026-12-24T16:00:00Z"), "x"},
		"every 2h drink":                         {heartbeat.Spec{Every: 2 * time.Hour}, "drink"},
		`cron "0 8 * * 1-5" good morning to you`: {heartbeat.Spec{Cron: "0 8 * * 1-5", Timezone: "Europe/Paris"}, "good morning to you"},
	}
	for text, tt := range tests {
		got, rest, err := heartbeat.ParseWhen(text, now, zone)
		if err != nil || got != tt.want || rest != tt.rest {
			t.Errorf("%q: got %+v, rest %q, %v", text, got, rest, err)
		}
	}
	for _, text := range []string{"", "in", "in x", "in -5m x", "in 0d", "every", "every now", "soon x", "25:00 x", "tomorrow", "2026-13-01 08:00", "2026-12-01", "cron * * x", "cron 0 0 30 2 * x"} {
		if got, _, err := heartbeat.ParseWhen(text, now, zone); err == nil {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
}

func FuzzParseWhen(f *testing.F) {
	f.Add("in 20m x")
	f.Add("cron 0 8 * * 1 x")
	f.Add("2026-12-24 18:00")
	f.Fuzz(func(t *testing.T, text string) {
		spec, _, err := heartbeat.ParseWhen(text, time.Unix(1e9, 0), time.UTC)
		if err != nil {
			return
		}
		if _, err := spec.Timer("x"); err != nil && spec.Every == 0 {
			t.Errorf("%q is read as %+v, which cannot be kept: %v", text, spec, err)
		}
	})
}
