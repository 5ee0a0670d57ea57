package bustest

import (
	"strings"
	"testing"
)

// WantError checks that err says all of what it should.
func WantError(t testing.TB, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one that says %q", want)
	}
	for _, w := range want {
		// The client spells some errors in two ways, by how early they come.
		if !strings.Contains(strings.ToLower(err.Error()), strings.ToLower(w)) {
			t.Errorf("error: got %q, want it to say %q", err, w)
		}
	}
}
