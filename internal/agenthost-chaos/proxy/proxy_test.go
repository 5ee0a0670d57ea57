package proxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"agenthost/internal/agenthost-chaos/proxy"
	"agenthost/internal/waittest"
)

const within = time.Minute

// startEcho is a server that says every line again.
func startEcho(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var conns sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); conns.Wait() })
	conns.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { _, _ = io.Copy(c, c); _ = c.Close() })
		}
	})
	return l.Addr().String()
}

func start(t *testing.T, with ...func(*proxy.Proxy)) *proxy.Proxy {
	t.Helper()
	p, err := proxy.Listen(startEcho(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range with {
		set(p)
	}
	var carried sync.WaitGroup
	carried.Go(p.Run)
	t.Cleanup(func() { p.Close(); carried.Wait() })
	return p
}

func connect(t *testing.T, p *proxy.Proxy) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.Address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	return c
}

// say sends a line and returns what comes back.
func say(c net.Conn, line string) (string, error) {
	if _, err := io.WriteString(c, line+"\n"); err != nil {
		return "", err
	}
	return bufio.NewReader(c).ReadString('\n')
}

func expect(t *testing.T, c net.Conn, line string) {
	t.Helper()
	if got, err := say(c, line); err != nil || got != line+"\n" {
		t.Fatalf("got %q, %v, want %q", got, err, line)
	}
}

func TestCut(t *testing.T) {
	p := start(t)
	c := connect(t, p)
	expect(t, c, "hello")
	p.SetCut(true)
	if got, err := say(c, "anybody?"); err == nil {
		t.Errorf("a cut line: got %q", got)
	}
	if got, err := say(connect(t, p), "anybody?"); err == nil {
		t.Errorf("a new connection on a cut line: got %q", got)
	}
	p.Heal()
	expect(t, connect(t, p), "again")
}

func TestReset(t *testing.T) {
	p := start(t)
	c := connect(t, p)
	expect(t, c, "hello")
	p.Reset()
	if _, err := io.ReadAll(c); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("got %v, want a reset", err)
	}
	expect(t, connect(t, p), "again")
}

func TestSwallow(t *testing.T) {
	for name, way := range map[string]proxy.Direction{"to the server": proxy.ToServer, "to the client": proxy.ToClient} {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			c := connect(t, p)
			expect(t, c, "hello")
			p.Swallow(way, true)
			if err := c.SetDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
				t.Fatal(err)
			}
			if got, err := say(c, "anybody?"); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("got %q, %v, want nothing", got, err)
			}
			p.Heal()
			if err := c.SetDeadline(time.Now().Add(within)); err != nil {
				t.Fatal(err)
			}
			if _, err := say(c, "anybody?"); err == nil {
				t.Error("a connection that has lost something goes on")
			}
			expect(t, connect(t, p), "again")
		})
	}
}

func TestDelay(t *testing.T) {
	p := start(t)
	c := connect(t, p)
	p.SetDelay(20 * time.Millisecond)
	begun := time.Now()
	expect(t, c, "hello")
	if took := time.Since(begun); took < 40*time.Millisecond {
		t.Errorf("both ways took %s, want 40 ms at least", took)
	}
}

func TestLatency(t *testing.T) {
	c := connect(t, start(t, func(p *proxy.Proxy) { p.Latency = 20 * time.Millisecond }))
	for _, line := range []string{"hello", "again"} {
		begun := time.Now()
		expect(t, c, line)
		if took := time.Since(begun); took < 40*time.Millisecond {
			t.Errorf("both ways took %s, want 40 ms at least", took)
		}
	}
}

// A tap sees what passes in each direction of a connection before the other side does, and
// what is thrown away.
func TestTap(t *testing.T) {
	var mu sync.Mutex
	var toServer, toClient []byte
	into := func(seen *[]byte) func([]byte) {
		return func(data []byte) {
			mu.Lock()
			defer mu.Unlock()
			*seen = append(*seen, data...)
		}
	}
	sees := func(wantServer, wantClient string) {
		t.Helper()
		mu.Lock()
		defer mu.Unlock()
		if string(toServer) != wantServer || string(toClient) != wantClient {
			t.Errorf("got %q and %q, want %q and %q", toServer, toClient, wantServer, wantClient)
		}
	}
	p := start(t, func(p *proxy.Proxy) {
		p.Tap = func() (up, down func([]byte)) { return into(&toServer), into(&toClient) }
	})
	c := connect(t, p)
	expect(t, c, "hello")
	sees("hello\n", "hello\n")
	p.Swallow(proxy.ToClient, true)
	if _, err := io.WriteString(c, "anybody?\n"); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "what is thrown away", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return string(toClient) == "hello\nanybody?\n"
	})
	sees("hello\nanybody?\n", "hello\nanybody?\n")
}

// A line that is long carries as much as a short one.
func TestLatencyIsNoLimitOfThroughput(t *testing.T) {
	const latency, size = 40 * time.Millisecond, 4 << 20
	p := start(t, func(p *proxy.Proxy) { p.Latency = latency })
	c := connect(t, p)
	begun := time.Now()
	var sent sync.WaitGroup
	sent.Go(func() { _, _ = c.Write(make([]byte, size)) })
	n, err := io.CopyN(io.Discard, c, size)
	took := time.Since(begun)
	sent.Wait()
	if err != nil {
		t.Fatalf("%d bytes came back: %v", n, err)
	}
	if took < 2*latency {
		t.Errorf("both ways took %s, want %s at least", took, 2*latency)
	}
	if alone := size / (32 << 10) * latency; took > alone/2 { // one piece after the other
		t.Errorf("4 MB took %s both ways, want much less than %s", took, alone)
	}
}
