package load_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"sync"
	"testing"

	"agenthost/internal/agenthost-chaos/load"

	"github.com/google/go-cmp/cmp"
)

// A platform serves one test, and a program is connected to it.
func platform(t *testing.T) *load.Platform {
	t.Helper()
	p, err := load.ListenPlatform()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return p
}

type program struct {
	t     *testing.T
	conn  net.Conn
	lines *bufio.Scanner
}

func connect(t *testing.T, p *load.Platform) program {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return program{t, conn, bufio.NewScanner(conn)}
}

func (p program) say(line string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.conn, line); err != nil {
		p.t.Fatal(err)
	}
}

func (p program) hears(want string) {
	p.t.Helper()
	if p.lines.Scan(); p.lines.Text() != want {
		p.t.Fatalf("got %q, %v, want %q", p.lines.Text(), p.lines.Err(), want)
	}
}

// What a program has taken with it to its end is said again to the next one.
func TestPlatformSaysAgain(t *testing.T) {
	p := platform(t)
	var saying sync.WaitGroup
	saying.Go(func() {
		if err := p.Say(t.Context(), "a", []byte(`{"id":"a"}`)); err != nil {
			t.Error(err)
		}
	})
	line := `{"type":"inbound","message":{"id":"a"}}`
	first := connect(t, p)
	first.hears(line)
	_ = first.conn.Close()
	second := connect(t, p)
	second.hears(line)
	second.say(`{"type":"accepted","id":"a"}`)
	saying.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Say(ctx, "b", []byte(`{"id":"b"}`)); err == nil {
		t.Error("got no error of a message that nobody accepted")
	}
}

// A reply that comes twice is there once, and every seventh only when it comes again.
func TestPlatformTakes(t *testing.T) {
	p := platform(t)
	one := connect(t, p)
	bring := func(id, want string) {
		t.Helper()
		one.say(fmt.Sprintf(`{"type":"outbound","message":{"id":%q}}`, id))
		one.hears(want)
	}
	for _, id := range []string{"1", "2", "2", "3", "4", "5", "6"} {
		bring(id, fmt.Sprintf(`{"type":"delivered","id":%q}`, id))
	}
	one.say("half of a li")
	bring("7", `{"type":"failed","id":"7","error":"too many messages","retry_after":"200ms"}`)
	bring("7", `{"type":"delivered","id":"7"}`)
	if diff := cmp.Diff([]string{"1", "2", "3", "4", "5", "6", "7"}, p.Taken()[load.Room]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
