//go:build interop

package exec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/plugins/internal/interop"
	"agenthost/plugins/settings"
)

// The samples of the page are plugins.
func TestInteropSamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/channels/exec.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, run := range map[string]func(file string) []string{
		"python bot.py": func(file string) []string { return []string{interop.Program(t, "python3"), file} },
		"js bot.mjs":    func(file string) []string { return []string{interop.Program(t, "node"), file} },
		"go bot.go":     func(file string) []string { return []string{interop.Program(t, "go"), "run", file} },
	} {
		t.Run(name, func(t *testing.T) {
			_, text, found := strings.Cut(string(page), "```"+name+"\n")
			text, _, closed := strings.Cut(text, "```")
			if !found || !closed || strings.Count(text, "\n") > 80 {
				t.Fatalf("the page has no such sample, or a long one:\n%s", text)
			}
			_, base, _ := strings.Cut(name, " ")
			file := filepath.Join(t.TempDir(), base)
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			s := serve(t, func(*platform) settings.Exec { return settings.Exec{Command: run(file)} })
			if got := s.inbound(1); !strings.Contains(got, "Hello from") {
				t.Errorf("got %s", got)
			}
			s.reply("r1", "welcome")
			s.eventually("the reply", func() bool { return strings.Contains(s.log.String(), "ana: welcome") && s.courier.Status().Out == 1 })
		})
	}
}
