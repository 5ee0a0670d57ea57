// Package proxy carries TCP connections and breaks them in the ways that a
// network does.
package proxy

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A Proxy carries connections to one server. Its methods are safe for
// concurrent use.
type Proxy struct {
	Address string // where it listens
	Server  string // where it connects to
	Tap     Tap    // observes what passes; nil: nothing does

	// Latency is by how much each piece of data is held back all the time.
	Latency time.Duration

	swallowed [2]atomic.Bool // what comes from the client, from the server, is thrown away
	delay     atomic.Int64   // of each piece of data, in nanoseconds

	listener net.Listener
	mu       sync.Mutex
	cut      bool
	conns    map[net.Conn]struct{}
}

// A Direction is one of the two ways of a connection.
type Direction int

// The directions.
const (
	ToServer Direction = iota
	ToClient
)

// A Tap is called for each connection. What it returns takes the data of one direction each,
// before that is carried on or thrown away.
type Tap func() (toServer, toClient func([]byte))

// Listen makes a proxy on a free port of this machine. Run carries its
// connections.
func Listen(server string) (*Proxy, error) {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for connections to %s: %w", server, err)
	}
	return &Proxy{Address: l.Addr().String(), Server: server, listener: l, conns: map[net.Conn]struct{}{}}, nil
}

// Run carries connections until Close.
func (p *Proxy) Run() {
	var carried sync.WaitGroup
	defer carried.Wait()
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		carried.Go(func() { p.join(client) })
	}
}

// Close ends Run.
func (p *Proxy) Close() {
	_ = p.listener.Close()
	p.SetCut(true)
}

// SetCut drops every connection and refuses new ones, or takes them again.
func (p *Proxy) SetCut(cut bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = cut
	if !cut {
		return
	}
	for c := range p.conns {
		_ = c.Close()
	}
}

// Reset ends every connection as a peer does that knows nothing of it: with a
// reset.
func (p *Proxy) Reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		if tcp, ok := c.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = c.Close()
	}
}

// Swallow throws away what goes one way, so that who sent it thinks that it has
// arrived. A connection that has lost something cannot be used again: cut it
// before the end.
func (p *Proxy) Swallow(way Direction, on bool) { p.swallowed[way].Store(on) }

// SetDelay holds each piece of data back for so long, besides the Latency.
func (p *Proxy) SetDelay(d time.Duration) { p.delay.Store(int64(d)) }

// Heal ends whatever was done to the line.
func (p *Proxy) Heal() {
	if p.swallowed[ToServer].Load() || p.swallowed[ToClient].Load() {
		p.SetCut(true)
	}
	p.Swallow(ToServer, false)
	p.Swallow(ToClient, false)
	p.SetDelay(0)
	p.SetCut(false)
}

// keep takes c into those that a cut closes, unless the line is cut.
func (p *Proxy) keep(c net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cut {
		_ = c.Close()
		return false
	}
	p.conns[c] = struct{}{}
	return true
}

func (p *Proxy) drop(c net.Conn) {
	p.mu.Lock()
	delete(p.conns, c)
	p.mu.Unlock()
	_ = c.Close()
}

// join carries both ways until one side is closed.
func (p *Proxy) join(client net.Conn) {
	if !p.keep(client) {
		return
	}
	defer p.drop(client)
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.Server)
	if err != nil {
		return
	}
	if !p.keep(server) {
		return
	}
	defer p.drop(server)
	toServer, toClient := func([]byte) {}, func([]byte) {}
	if p.Tap != nil {
		toServer, toClient = p.Tap()
	}
	var up sync.WaitGroup
	up.Go(func() {
		p.carry(server, client, ToServer, toServer)
		p.drop(server)
	})
	p.carry(client, server, ToClient, toClient)
	p.drop(client)
	up.Wait()
}

// onTheWay is how many pieces of data a line that holds them back has room for.
const onTheWay = 1024

// A piece of data is to arrive at a time.
type piece struct {
	data []byte
	due  time.Time
}

// carry copies one way until a side is closed. What holds a piece of data back does not hold back
// the next as well: a long line is slow to answer, and carries as much as a short one.
func (p *Proxy) carry(to io.Writer, from io.Reader, way Direction, tap func([]byte)) {
	pieces := make(chan piece, onTheWay)
	closed := make(chan struct{}) // the other side
	go func() {
		defer close(closed)
		for next := range pieces {
			if d := time.Until(next.due); d > 0 {
				<-time.After(d) // the fault itself
			}
			if _, err := to.Write(next.data); err != nil {
				return
			}
		}
	}()
	defer func() { close(pieces); <-closed }()
	data := make([]byte, 32<<10)
	for {
		n, err := from.Read(data)
		tap(data[:n])
		if n > 0 && !p.swallowed[way].Load() {
			due := time.Now().Add(p.Latency + time.Duration(p.delay.Load()))
			select {
			case pieces <- piece{slices.Clone(data[:n]), due}:
			case <-closed:
				return
			}
		}
		if err != nil {
			return
		}
	}
}
