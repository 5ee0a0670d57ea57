//go:build long

package natsserver_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/internal/freeport"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// A leaf notices that the network drops what goes over its line, and makes another.
func TestLeafLeavesSilentLine(t *testing.T) {
	t.Parallel()
	var leafs string
	hub, _ := bustest.Server(t, func(o *server.Options) {
		leafs = freeport.Address(t)
		host, port, _ := net.SplitHostPort(leafs)
		o.LeafNode.Host = host
		o.LeafNode.Port, _ = strconv.Atoi(port)
	})
	line := newLine(t, leafs)
	file := filepath.Join(t.TempDir(), "leaf.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, "leafnodes {remotes: [{url: %q}]}", "nats-leaf://"+line.address), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := bustest.Config(t)
	cfg.Embedded.Config = file
	b := bustest.OpenConfig(t, cfg)
	sub, err := b.NC.Subscribe("ask", func(m *nats.Msg) { _ = m.Respond(nil) })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	nc, err := nats.Connect(hub)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	answered := func() {
		t.Helper()
		for ctx.Err() == nil {
			within, cancel := context.WithTimeout(ctx, time.Second)
			_, err := nc.RequestWithContext(within, "ask", nil)
			cancel()
			if err == nil {
				return
			}
		}
		t.Fatal("the edge does not answer the hub")
	}
	answered()
	line.drop()
	answered()
}

// A line carries connections to a server until it drops what goes over them. They stay open.
type line struct {
	address string

	mu    sync.Mutex
	conns []net.Conn
	lost  *atomic.Bool // for the connections from now on
}

func newLine(t *testing.T, to string) *line {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &line{address: l.Addr().String(), lost: new(atomic.Bool)}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			ours, err := l.Accept()
			if err != nil {
				return
			}
			theirs, err := net.Dial("tcp", to)
			if err != nil {
				ours.Close()
				continue
			}
			n.mu.Lock()
			n.conns = append(n.conns, ours, theirs)
			lost := n.lost
			n.mu.Unlock()
			group.Go(func() { carry(ours, theirs, lost) })
			group.Go(func() { carry(theirs, ours, lost) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		n.mu.Lock()
		for _, c := range n.conns {
			c.Close()
		}
		n.mu.Unlock()
		group.Wait()
	})
	return n
}

func carry(from, to net.Conn, lost *atomic.Bool) {
	data := make([]byte, 4096)
	for {
		k, err := from.Read(data)
		if err != nil {
			return
		}
		if !lost.Load() {
			_, _ = to.Write(data[:k])
		}
	}
}

// drop drops what goes over the connections that there are.
func (n *line) drop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lost.Store(true)
	n.lost = new(atomic.Bool)
}
