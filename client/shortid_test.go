package client

import (
	"strings"
	"testing"
)

func TestResolveShortIDs(t *testing.T) {
	t.Parallel()
	ids := []string{"ana.s1.aaa", "ana.s1.abb", "bob.s2.ccc", "bob"}
	for short, want := range map[string]string{"ana.s1.aaa": "ana.s1.aaa", "ana.s1.ab": "ana.s1.abb", "ana.s1.aa…": "ana.s1.aaa", "bob": "bob", "bob.": "bob.s2.ccc", "x": "", "": "", "…": ""} {
		if got, err := Resolve("id", short, ids); got != want || err != nil {
			t.Errorf("%q: got %q, %v; want %q", short, got, err, want)
		}
	}
	if _, err := Resolve("id", "ana", ids); err == nil || !strings.Contains(err.Error(), `id "ana" is not unique: it begins ana.s1.aaa, ana.s1.abb; write more of it`) {
		t.Errorf("got %v", err)
	}
}
