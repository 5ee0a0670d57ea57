package delivery

import (
	"fmt"
	"slices"
	"testing"
	"time"

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

// A host with as many filters as a consumer may have is not kept from its start by comparing them.
func TestTakenBeforeOfManyFilters(t *testing.T) {
	var filters []string
	for i := range maxFilters {
		filters = append(filters, fmt.Sprintf("plugin.inbound.telegram.account-%03d", i))
	}
	began := time.Now()
	if got := inBoth(filters, filters); !slices.Equal(got, filters) {
		t.Errorf("%d of %d filters", len(got), len(filters))
	}
	if took := time.Since(began); took > 2*time.Second { // each with all others took 8 s
		t.Errorf("it took %s", took)
	}
}
