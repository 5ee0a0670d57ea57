package main_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// start builds the program, runs it with its own configuration in a folder of
// the test, and connects to its NATS.
func start(t *testing.T) (*exec.Cmd, *nats.Conn) {
	t.Helper()
	dir := t.TempDir()
	binary := filepath.Join(dir, "greeter")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	settings, err := os.ReadFile("agenthost.yaml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "agenthost.yaml")
	if err := os.WriteFile(file, settings, 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	cmd := exec.Command(binary, file)
	cmd.Env = append(os.Environ(), "GREETER_LISTEN="+address)
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it has ended if the test is well
		_ = cmd.Wait()
	})
	up := make(chan struct{})
	nc, err := nats.Connect("nats://"+address, nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(50*time.Millisecond), nats.ConnectHandler(func(*nats.Conn) { close(up) }))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	select {
	case <-up:
	case <-time.After(30 * time.Second):
		t.Fatal("the program does not come up")
	}
	return cmd, nc
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// inbound and outbound are what a channel writes and reads; see docs/subjects.md.
type inbound struct {
	ID   string `json:"id"`
	From string `json:"from"`
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

type outbound struct {
	ID    string `json:"id"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Final bool   `json:"final"`
}

// say publishes until the stream takes it, which it does once the host has made
// its streams.
func say(t *testing.T, nc *nats.Conn, in inbound) {
	t.Helper()
	data, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	for {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		_, err := nc.RequestWithContext(ctx, "plugin.inbound.door", data)
		cancel()
		if err == nil {
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func TestGreeter(t *testing.T) {
	cmd, nc := start(t)
	heard, err := nc.SubscribeSync("plugin.outbound.door")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"", "hello", "Who is there?"},
		{"Ana", "hello", "Good to see you, Ana!"},
		{"Bo", "what time is it?", "It is "},
	} {
		say(t, nc, inbound{ID: tt.name, From: "7", Name: tt.name, Text: tt.text})
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		msg, err := heard.NextMsgWithContext(ctx)
		cancel()
		if err != nil {
			t.Fatal(err)
		}
		out := outbound{}
		if err := json.Unmarshal(msg.Data, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.Text, tt.want) || !out.Final || out.Kind != "reply" || out.ID == "" {
			t.Errorf("%q says %q and hears %+v", tt.name, tt.text, out)
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("it ends with %v", err)
	}
}
