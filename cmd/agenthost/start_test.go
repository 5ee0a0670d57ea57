package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/internal/cli"
)

const quietConfig = "http: {listen: ''}\nnats: {embedded: {listen: ''}}\nmodels: {main: {provider: echo}}\nagents: [{id: ana, model: main, channels: [web]}]\n"

// A started is a host in a process of its own.
type started struct {
	cmd   *exec.Cmd
	lines chan map[string]any // of its log
}

func startHostIn(t *testing.T, dir string, env []string, args ...string) *started {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"run", "--log-format", "json"}, args...)...)
	cmd.Args[0], cmd.Dir, cmd.Env = "agenthost", dir, append(os.Environ(), env...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s := &started{cmd, make(chan map[string]any, 1000)}
	go func() {
		defer close(s.lines)
		for in := bufio.NewScanner(stderr); in.Scan(); {
			line := map[string]any{}
			if err := json.Unmarshal(in.Bytes(), &line); err != nil {
				line["message"] = in.Text()
			}
			s.lines <- line
		}
	}()
	t.Cleanup(func() { s.kill() })
	return s
}

func (s *started) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// until returns the log up to the line with a message, in which words are.
func (s *started) until(t *testing.T, message string) (before []map[string]any, line map[string]any) {
	t.Helper()
	for line := range s.lines {
		if text, _ := line["message"].(string); strings.Contains(text, message) {
			return before, line
		}
		before = append(before, line)
	}
	t.Fatalf("the host ended without %q: %v", message, before)
	return nil, nil
}

func configured(t *testing.T, text string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, cli.DefaultConfig), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Two hosts of one folder and name: the second says why it does not start.
func TestSecondHostOfAName(t *testing.T) {
	t.Parallel()
	dir := configured(t, quietConfig)
	startHostIn(t, dir, nil, "--name", "kiwi").until(t, "ready")
	startHostIn(t, dir, nil, "--name", "kiwi").until(t, `host name "kiwi" is in use by process`)
}

// Two hosts of one name in different folders, on one NATS: both are told.
func TestHostsOfOneNameOnOneNATS(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	first := startHostIn(t, configured(t, quietConfig), nil, "-s", url, "--name", "kiwi")
	first.until(t, "ready")
	startHostIn(t, configured(t, quietConfig), nil, "-s", url, "--name", "plum").until(t, "ready")
	second := startHostIn(t, configured(t, quietConfig), nil, "-s", url, "--name", "kiwi")
	_, mine := second.until(t, "another host of this name")
	_, theirs := first.until(t, "another host of this name")
	for _, line := range []map[string]any{mine, theirs} {
		if line["level"] != "warn" || line["host"] != "kiwi" || line["started"] == nil || line["other_started"] == nil {
			t.Errorf("got %v", line)
		}
	}
	if theirs["started"] != mine["other_started"] || theirs["other_started"] != mine["started"] {
		t.Errorf("the times differ: %v and %v", mine, theirs)
	}
}

// The first line says that a variable goes before the configuration.
func TestNATSURLOverridesAnEmbeddedConfiguration(t *testing.T) {
	t.Parallel()
	const elsewhere = "nats://ann:s3cret@127.0.0.1:1"
	tests := map[string]struct {
		config string
		env    []string
		args   []string
		said   bool
	}{
		"variable":                  {quietConfig, []string{"NATS_URL=" + elsewhere}, nil, true},
		"flag":                      {quietConfig, nil, []string{"-s", elsewhere}, false},
		"flag and variable":         {quietConfig, []string{"NATS_URL=nats://127.0.0.1:2"}, []string{"-s", elsewhere}, false},
		"an external configuration": {"nats: {url: 'nats://127.0.0.1:2'}\n" + strings.Replace(quietConfig, "nats:", "#", 1), []string{"NATS_URL=" + elsewhere}, nil, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := startHostIn(t, configured(t, tt.config), tt.env, tt.args...)
			before, waiting := h.until(t, "waiting for NATS")
			first, _ := before[0]["message"].(string)
			if said := strings.HasPrefix(first, "NATS_URL is set: "); said != tt.said {
				t.Errorf("the first line is %q", first)
			}
			if tt.said && before[0]["nats"] != "127.0.0.1:1" {
				t.Errorf("the first line is %v", before[0])
			}
			if waiting["server"] != "nats://127.0.0.1:1" || waiting["since"] == nil {
				t.Errorf("it waits with %v", waiting)
			}
		})
	}
}
