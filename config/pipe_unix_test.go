//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"agenthost/config"
)

// A pipe without a writer would hold a host at its start or a reload, where no signal ends it.
func TestPipesAreNotWaitedFor(t *testing.T) {
	const text = "models: {m: {provider: echo}}\nagents: [{id: ana}]\n"
	for name, tt := range map[string]struct{ text, pipe string }{
		"agenthost.yaml": {"", "agenthost.yaml"},
		"agents.d":       {text, "agents.d/x.yaml"},
		"agents":         {text, "agents/bo.md"},
		"secret":         {strings.Replace(text, "ana", `ana, description: "${file:key}"`, 1), "key"},
		"instructions":   {strings.Replace(text, "ana", "ana, instruction_files: [more.md]", 1), "more.md"},
		"script":         {strings.Replace(text, "echo", "scripted, script: s.yaml", 1), "s.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			pipe := filepath.Join(folder, tt.pipe)
			if err := os.MkdirAll(filepath.Dir(pipe), 0o700); err != nil {
				t.Fatal(err)
			}
			if tt.text != "" {
				if err := os.WriteFile(filepath.Join(folder, "agenthost.yaml"), []byte(tt.text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := syscall.Mkfifo(pipe, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := config.Load(folder)
			if err == nil || !strings.Contains(err.Error(), "it is a pipe or a device; want a file") {
				t.Errorf("got %v", err)
			}
		})
	}
	t.Run("beside the one file", func(t *testing.T) {
		folder := t.TempDir()
		if err := os.Mkdir(filepath.Join(folder, "agents"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, "agenthost.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(filepath.Join(folder, "agents", "bo.md"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := config.Load(filepath.Join(folder, "agenthost.yaml")); err != nil {
			t.Error(err)
		}
	})
}

// What -c names may be a pipe: agenthost check -c <(make-config).
func TestNamedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "c.yaml")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	go func() { _ = os.WriteFile(pipe, []byte("models: {m: {provider: echo}}\nagents: [{id: ana}]\n"), 0o600) }()
	if c, err := config.Load(pipe); err != nil || len(c.Agents) != 1 {
		t.Errorf("got %v, %v", c, err)
	}
}
