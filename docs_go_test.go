//go:build long

package agenthost_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/internal/freeport"

	"github.com/nats-io/nats.go"
)

// The program of docs/go.md is built outside the module, as it is printed, and
// answers with its own tool.
func TestProgramInDocs(t *testing.T) {
	t.Parallel()
	program := fenceOf(t, "docs/go.md", "go main.go")
	if n := strings.Count(program, "\n"); n > 40 {
		t.Errorf("the program has %d lines, want at most 40", n)
	}
	dir, address := t.TempDir(), freeport.Address(t)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("main.go", program)
	write("go.mod", modOutside(t))
	write("go.sum", read(t, "go.sum"))
	write("play.yaml", fenceOf(t, "docs/go.md", "yaml script"))
	write("agenthost.yaml", fenceOf(t, "docs/go.md", "yaml")+"nats: {embedded: {listen: \""+address+"\"}}\nhttp: {listen: \"\"}\n")
	build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", "program", ".")
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "./program")
	cmd.Dir, cmd.Stderr = dir, t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended if the test is well
		_ = cmd.Wait()
	})
	if got := asked(t, address, "counter", "are you open on Sunday?"); got != "We are closed." {
		t.Errorf("it answers %q", got)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}

// fenceOf is the one block of a page with this info.
func fenceOf(t *testing.T, page, info string) string {
	t.Helper()
	var found []string
	for _, f := range fences(t, info) {
		if f.page == page {
			found = append(found, f.text)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%s: want one block with %q, got %d", page, info, len(found))
	}
	return found[0]
}

// modOutside is the go.mod of a module beside this one.
func modOutside(t *testing.T) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	mod := strings.Replace(read(t, "go.mod"), "module "+module(), "module example.org/outside", 1)
	return mod + "\nrequire " + module() + " v0.0.0\n\nreplace " + module() + " => " + here + "\n"
}

// asked publishes a text to a channel of the host at address, once it is up, and
// returns the reply.
func asked(t *testing.T, address, channel, text string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	nc, err := nats.Connect("nats://"+address, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(50*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	replies, err := nc.SubscribeSync("plugin.outbound." + channel)
	if err != nil {
		t.Fatal(err)
	}
	in, _ := json.Marshal(map[string]string{"id": "1", "from": "7", "text": text})
	for { // until the host has made its streams
		try, cancel := context.WithTimeout(ctx, time.Second)
		_, err := nc.RequestWithContext(try, "plugin.inbound."+channel, in)
		cancel()
		if err == nil {
			break
		}
		select {
		case <-ctx.Done():
			t.Fatal(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
	msg, err := replies.NextMsgWithContext(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var out struct{ Text string }
	if err := json.Unmarshal(msg.Data, &out); err != nil {
		t.Fatal(err)
	}
	return out.Text
}
