package tools_test

import (
	"encoding/json"
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

// A server may have slashes in the names of its tools. For commands they are those of paths.
func TestPatternsCoverSlashes(t *testing.T) {
	const name = "wiki.admin/delete"
	for _, glob := range []string{"*", "wiki.*", "wiki.admin*", "*delete", "wiki.admin?delete", name} {
		if !tools.GrantOf(glob).Allows(name) {
			t.Errorf("%s does not grant %s", glob, name)
		}
		policy, err := tools.NewPolicy(map[string]string{glob: "deny"})
		if err != nil {
			t.Fatal(err)
		}
		if d := policy.Decide(tools.Tool{Name: name, ReadOnly: true}, nil, nil); d.Verdict != tools.Deny {
			t.Errorf("%s: deny: got %s", glob, d.Verdict)
		}
	}
	policy, err := tools.NewPolicy(map[string]string{"run_command": "ask", "run_command:*": "allow"})
	if err != nil {
		t.Fatal(err)
	}
	run := tools.Tool{Name: "run_command", Commands: func(args json.RawMessage) string { return string(args) }}
	if d := policy.Decide(run, json.RawMessage("/tmp/x"), nil); d.Verdict != tools.Ask {
		t.Errorf("a path as a command: got %s, want ask", d.Verdict)
	}
}
