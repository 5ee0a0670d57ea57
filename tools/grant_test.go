package tools_test

import (
	"strings"
	"testing"

	"agenthost/tools"
)

func TestOverlap(t *testing.T) {
	many := strings.Repeat("*a", 500)
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"now", "now", true},
		{"now", "no", false},
		{"", "", true},
		{"", "*", true},
		{"", "?", false},
		{"files.*", "files.read", true},
		{"files.*", "file", false},
		{"files.*", "*.read", true},
		{"files.*", "wiki.*", false},
		{"*", "now", true},
		{"*", "*", true},
		{"n?w", "no*", true},
		{"n?w", "nw", false},
		{"*a*", "*b*", true},
		{"a*b", "a*c", false},
		{"[n]ow", "wiki", true},
		{many, many + "*", true},
		{many, many + "b", false},
	} {
		if tools.Overlap(tt.a, tt.b) != tt.want || tools.Overlap(tt.b, tt.a) != tt.want {
			t.Errorf("Overlap(%.20q, %.20q) = %t, want %t both ways", tt.a, tt.b, !tt.want, tt.want)
		}
	}
}
