package commands

import (
	"strings"
	"testing"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

// The list of models fits a terminal, as all lists do.
func TestModelsFitTheScreen(t *testing.T) {
	for _, width := range []int{40, 80} {
		var out strings.Builder
		a := &app{App: &cli.App{Stdout: &out, Fixed: &terminal.Screen{Terminal: true, Width: width}}}
		m := client.HostModel{Host: "a-host-of-a-long-name"}
		m.Name, m.Provider, m.Model, m.Breaker = "main", "openai", strings.Repeat("long-", 20), "closed"
		if err := a.printModels([]client.HostModel{m}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if got := terminal.Width(strings.TrimSuffix(line, "\n")); got > width {
				t.Errorf("%d columns: a line of %d: %q", width, got, line)
			}
		}
	}
}
