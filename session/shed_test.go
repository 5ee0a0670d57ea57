package session_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/session"
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
			m := session.NewManager(session.Options[int]{OnExpire: gone.add})
			perform(m, tt.do)
			m.Shed(tt.n)
			if diff := cmp.Diff(tt.gone, gone.take()); diff != "" {
				t.Errorf("gone (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.left, keys(m)); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}
