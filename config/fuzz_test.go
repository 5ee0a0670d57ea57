package config_test

import (
	"os"
	"testing"

	"agenthost/config"
)

// FuzzParse wants of any bytes a configuration or at least one problem with a
// text, and never both.
func FuzzParse(f *testing.F) {
	full, err := os.ReadFile("testdata/full.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(full)
	f.Add([]byte("agents: [&a {id: a, model: ${M:-x}, channels: [web, {channel: x}]}, {<<: *a, id: b}]"))
	f.Add([]byte("plugins: {a: {b: [1, ~, !!binary x, 2026-01-01, {? [x] : y}]}}\n---\n"))
	f.Add([]byte("agents: [{id: a, schedules: [{name: n, cron: '*/0 TZ= 1', prompt: ${id}}]}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := config.Parse("c.yaml", data)
		if (c == nil) == (err == nil) {
			t.Fatalf("got config %v and error %v, want one of them", c, err)
		}
		for _, p := range problems(t, err) {
			if len(p) <= len("c.yaml: ") {
				t.Errorf("empty problem %q", p)
			}
		}
	})
}
