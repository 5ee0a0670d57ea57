package builtin_test

import (
	"testing"
	"testing/synctest"

	"agenthost/tools/builtin"
)

func TestNow(t *testing.T) {
	tests := map[string]struct{ args, want string }{
		"none":      {``, "Saturday, 2000-01-01T00:00:00Z (UTC)"},
		"empty":     {`{}`, "Saturday, 2000-01-01T00:00:00Z (UTC)"},
		"a zone":    {`{"timezone":"Europe/Paris"}`, "Saturday, 2000-01-01T01:00:00+01:00 (Europe/Paris)"},
		"other day": {`{"timezone":"America/New_York"}`, "Friday, 1999-12-31T19:00:00-05:00 (America/New_York)"},
	}
	b := open(t, builtin.Options{})
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if got := b.text(t, "now", tt.args); got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func TestNowRefuses(t *testing.T) {
	b := open(t, builtin.Options{})
	for _, zone := range []string{"Local", "Mars/Olympus", "../../etc/passwd", "/etc/localtime"} {
		b.fails(t, "now", `{"timezone":"`+zone+`"}`, `time zone "`+zone+`": unknown`)
	}
}
