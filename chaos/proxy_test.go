//go:build unix

package chaos_test

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A proxy is the line between a host and NATS, which can be cut.
type proxy struct {
	address string
	server  string

	lossy atomic.Bool // what the server sends is thrown away

	mu    sync.Mutex
	cut   bool
	conns map[net.Conn]struct{}
}

func startProxy(t testing.TB, server string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{address: l.Addr().String(), server: server, conns: map[net.Conn]struct{}{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return // closed by the test
			}
			wg.Go(func() { p.join(client) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.setCut(true)
		wg.Wait()
	})
	return p
}

// setCut drops every connection and refuses new ones, or takes them again.
func (p *proxy) setCut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	if !cut {
		return
	}
	for c := range p.conns {
		c.Close()
	}
}

// lose throws away what the server sends for a while, and then the connections,
// so that the server thinks it has delivered what never came.
func (p *proxy) lose(d time.Duration) {
	p.lossy.Store(true)
	<-time.After(d) // the chaos itself
	p.setCut(true)
	p.lossy.Store(false)
	p.setCut(false)
}

// keep takes c into those that a cut closes, unless the line is cut.
func (p *proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

// join carries both ways until one side is closed.
func (p *proxy) join(client net.Conn) {
	defer client.Close()
	if !p.keep(client) {
		return
	}
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.keep(server) {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(server, client)
		server.Close()
	}()
	_, _ = io.Copy(client, lossyReader{server, &p.lossy})
	client.Close()
	<-done
}

// A lossyReader reads and, while lost is set, passes nothing on.
type lossyReader struct {
	io.Reader
	lost *atomic.Bool
}

// Read reads until there is something to pass on.
func (r lossyReader) Read(b []byte) (int, error) {
	for {
		n, err := r.Reader.Read(b)
		if err != nil || !r.lost.Load() {
			return n, err
		}
	}
}
