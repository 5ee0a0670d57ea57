package delivery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What a consumer took before, of what a host claims, is asked for however either is written.
func TestTakenBefore(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		takes, claims, wants []string
	}{
		{"the same", []string{"a.b"}, []string{"a.b"}, []string{"a.b"}},
		{"a new agent", []string{"a.b"}, []string{"a.b", "a.c"}, []string{"a.b"}},
		{"an agent less", []string{"a.b", "a.c"}, []string{"a.b"}, []string{"a.b"}},
		{"claims that overlap", []string{"a.*"}, []string{"a.b", "a.*"}, []string{"a.*"}},
		{"it took everything", []string{"a.>"}, []string{"a.b", "a.c"}, []string{"a.b", "a.c"}},
		{"nothing is noted", nil, []string{"a.b"}, nil},
		{"another", []string{"a.c"}, []string{"a.b"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.wants, inBoth(tt.takes, tt.claims)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
