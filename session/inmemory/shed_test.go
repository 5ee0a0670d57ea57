package inmemory_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/session/inmemory"
)

func TestShed(t *testing.T) {
	tests := map[string]struct {
		n          int
		do         string
		left, gone []string
	}{
		"the oldest go":        {2, "a b c d", []string{"c", "d"}, []string{"a cap", "b cap"}},
		"in the order of idle": {1, "a b ?a", []string{"a"}, []string{"b cap"}},
		"in flight stays":      {5, "+a b +c", []string{"a", "c"}, []string{"b cap"}},
		"none":                 {0, "a", []string{"a"}, nil},
		"of none":              {3, "", nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var gone drops
			m := inmemory.NewManager(inmemory.Options[int]{OnExpire: gone.add})
			perform(m, tt.do)
			m.Shed(tt.n, 0)
			if diff := cmp.Diff(tt.gone, gone.take()); diff != "" {
				t.Errorf("gone (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.left, keys(m)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

// Sessions that people are using now stay: to read one again costs more memory
// than it takes.
func TestShedOnlyWhatIsIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := inmemory.NewManager(inmemory.Options[int]{})
		perform(m, "a b c")
		time.Sleep(time.Minute)
		perform(m, "?a")
		m.Shed(5, time.Minute)
		if diff := cmp.Diff([]string{"a"}, keys(m)); diff != "" {
			t.Errorf("left (-want +got):\n%s", diff)
		}
	})
}
