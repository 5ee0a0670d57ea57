package main

import (
	"bufio"
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/host"

	"github.com/rs/zerolog"
)

// serveDemo runs a host with its demo on the NATS at url until the test ends.
func serveDemo(t *testing.T, url string) {
	t.Helper()
	cfg := config.Demo()
	cfg.NATS.URL, cfg.NATS.Embedded.Store, cfg.HTTP.Listen = url, t.TempDir(), ""
	h := host.New(host.Options{Config: cfg, Version: version, Grace: host.DefaultGrace, Log: zerolog.Nop()})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-h.Ready():
	case err := <-ended:
		ended <- nil
		t.Fatal(err)
	}
}

// Tail tells of what happens from when it says so, and ends with exit code 0
// when it is interrupted.
func TestSessionsTail(t *testing.T) {
	t.Chdir(t.TempDir())
	url, _ := bustest.Server(t)
	serveDemo(t, url)
	call(t, 0, "", "send", "demo", "before", "--session", "s1", "--wait", "-s", url)
	for want, flags := range map[string][]string{"after": nil, `"type":"run.finished"`: {"--json"}} {
		told := tailed(t, url, flags...)
		contains(t, told, "after")
		contains(t, told, want)
		if strings.Contains(told, "before") {
			t.Errorf("what was before is told: %s", told)
		}
	}
}

// tailed is what tail tells of one message.
func tailed(t *testing.T, url string, flags ...string) string {
	t.Helper()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, outs := io.Pipe()
	errs, errsIn := io.Pipe()
	code := make(chan int, 1)
	go func() {
		args := append([]string{"sessions", "tail", "demo", "route/cli/s1", "-s", url}, flags...)
		code <- execute(ctx, args, strings.NewReader(""), outs, errsIn)
		_, _ = outs.Close(), errsIn.Close()
	}()
	if said, err := bufio.NewReader(errs).ReadString('\n'); err != nil || !strings.Contains(said, "following") {
		t.Fatalf("said %q, %v", said, err)
	}
	var others sync.WaitGroup
	defer others.Wait()
	others.Go(func() { _, _ = io.Copy(io.Discard, errs) })
	others.Go(func() { call(t, 0, "", "send", "demo", "after", "--session", "s1", "-s", url) })
	var lines []string
	for in := bufio.NewScanner(out); in.Scan(); {
		lines = append(lines, in.Text())
		if strings.Contains(in.Text(), "settled") {
			interrupt()
		}
	}
	if got := <-code; got != 0 {
		t.Errorf("exit code %d", got)
	}
	return strings.Join(lines, "\n")
}

// A list that is watched is shown again when it has changed, until it is interrupted.
func TestListIsWatched(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	serveDemo(t, url)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	out, outs := io.Pipe()
	code := make(chan int, 1)
	go func() {
		code <- execute(ctx, []string{"sessions", "ls", "--watch", "-s", url}, strings.NewReader(""), outs, io.Discard)
		_ = outs.Close()
	}()
	in := bufio.NewScanner(out)
	sees := func(want string) {
		t.Helper()
		for in.Scan() {
			if strings.Contains(in.Text(), want) {
				return
			}
		}
		t.Fatalf("the list has ended without %q", want)
	}
	sees("no sessions")
	call(t, 0, "", "send", "demo", "hello", "--session", "s1", "--wait", "-s", url)
	sees("route/cli/s1")
	interrupt()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d", got)
	}
}
