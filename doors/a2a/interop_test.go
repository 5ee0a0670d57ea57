//go:build interop

package a2a_test

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus/bustest"
)

// The official client for JavaScript, unmodified. AGENTHOST_NPM is a folder in which
// @a2a-js/sdk is installed.
func TestInteropA2AClient(t *testing.T) {
	dir := os.Getenv("AGENTHOST_NPM")
	if dir == "" {
		t.Fatal("AGENTHOST_NPM is not set: a folder with the npm package @a2a-js/sdk")
	}
	_, c := start(t, "")
	program, err := os.ReadFile("testdata/client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "a2a-client.mjs") // Node looks for packages beside it
	if err := os.WriteFile(file, program, 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(bustest.Context(t), "node", file, c.url+"/").CombinedOutput()
	if err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	for _, step := range []string{"discover", "send", "stream", "get", "answer", "cancel", "resubscribe", "list", "errors"} {
		if !strings.Contains(string(out), step+"\n") {
			t.Errorf("%s was not done:\n%s", step, out)
		}
	}
}

// The a2a command of the Go SDK, unmodified. AGENTHOST_A2A is the program.
func TestInteropA2ACommand(t *testing.T) {
	program := os.Getenv("AGENTHOST_A2A")
	if program == "" {
		t.Fatal("AGENTHOST_A2A is not set: the program of github.com/a2aproject/a2a-go/v2/cmd/a2a")
	}
	_, c := start(t, tokens)
	do := func(args ...string) string {
		t.Helper()
		args = append(args, "--auth", "Bearer shop-secret", "-o", "json")
		out, err := exec.CommandContext(bustest.Context(t), program, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	want := func(out string, words ...string) {
		t.Helper()
		for _, word := range words {
			if !strings.Contains(out, word) {
				t.Errorf("no %s in %s", word, out)
			}
		}
	}
	want(do("discover", c.url), `"name": "ana"`)
	want(do("send", c.url, "hi"), "ana: hi", completed)
	want(do("send", c.url, "story", "--stream"), "upon", completed)
	var begun struct{ ID string }
	out := do("send", c.url, "endless", "--immediate")
	if i := strings.Index(out, `"id"`); i < 0 || json.Unmarshal([]byte("{"+strings.SplitN(out[i:], ",", 2)[0]+"}"), &begun) != nil {
		t.Fatalf("no task in %s", out)
	}
	want(do("get", "task", c.url, begun.ID), begun.ID)
	cmd := exec.CommandContext(bustest.Context(t), program, "subscribe", c.url, begun.ID, "--auth", "Bearer shop-secret", "-o", "json")
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var trouble strings.Builder
	cmd.Stderr = &trouble
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	followed := bufio.NewReader(pipe)
	var shown string // until it has the task, and sees what becomes of it
	for err == nil && !strings.Contains(shown, begun.ID) {
		var line string
		line, err = followed.ReadString('\n')
		shown += line
	}
	if err != nil {
		t.Fatalf("subscribe has shown no task: %v\n%s\n%s", err, shown, &trouble)
	}
	want(do("cancel", c.url, begun.ID), canceled)
	rest, err := io.ReadAll(followed)
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("subscribe: %v\n%s", err, &trouble)
	}
	want(string(rest), canceled)
	want(do("get", "task", c.url, begun.ID), canceled)
	want(do("list", "tasks", c.url), begun.ID)
}
