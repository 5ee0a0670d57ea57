package memnats

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// A conn is a connection as its client sees it. What the client writes is kept until
// the server collects it, and what the server hands over is there to be read. Nothing
// blocks but Read.
type conn struct {
	name string
	wake chan<- struct{} // a token whenever the client has done something

	mu       sync.Mutex
	sent     []byte // by the client, not collected
	got      []byte // for the client, not read
	closed   bool   // by the client
	cut      bool   // by the server
	deadline time.Time
	readable chan struct{} // a token when got, closed, cut or deadline has changed
	greeted  bool          // the first PING was answered
}

func newConn(name string, wake chan<- struct{}) *conn {
	return &conn{name: name, wake: wake, readable: make(chan struct{}, 1), got: []byte(greeting)}
}

const greeting = `INFO {"server_id":"MEMORY","server_name":"memory","version":"2.15.2","proto":1,"headers":true,"jetstream":true,"max_payload":1048576,"api_lvl":4}` + "\r\n"

// greet answers the first PING at once: the client waits for that under a lock, and who
// waits for a lock does not count as waiting in a bubble of testing/synctest.
func (c *conn) greet() {
	before, after, ok := bytes.Cut(c.sent, []byte("PING\r\n"))
	if c.greeted || !ok {
		return
	}
	c.greeted = true
	c.sent = append(before, after...)
	c.got = append(c.got, "PONG\r\n"...)
	token(c.readable)
}

func token(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Read implements net.Conn.
func (c *conn) Read(p []byte) (int, error) {
	for {
		n, deadline, err := c.take(p)
		if n > 0 || err != nil {
			return n, err
		}
		if deadline.IsZero() {
			<-c.readable
			continue
		}
		timer := time.NewTimer(time.Until(deadline))
		select {
		case <-c.readable:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (c *conn) take(p []byte) (int, time.Time, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return 0, c.deadline, net.ErrClosed
	case len(c.got) > 0:
		n := copy(p, c.got)
		c.got = c.got[n:]
		return n, c.deadline, nil
	case c.cut:
		return 0, c.deadline, io.EOF
	case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
		return 0, c.deadline, os.ErrDeadlineExceeded
	}
	return 0, c.deadline, nil
}

var errReset = errors.New("connection reset by peer")

// Write implements net.Conn.
func (c *conn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return 0, net.ErrClosed
	case c.cut:
		return 0, errReset
	}
	c.sent = append(c.sent, p...)
	c.greet()
	token(c.wake)
	return len(p), nil
}

// Close implements net.Conn.
func (c *conn) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	token(c.readable)
	token(c.wake)
	return nil
}

// collect is what the client has written since, and whether it has closed the connection.
func (c *conn) collect(to []byte) (data []byte, closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	to = append(to, c.sent...)
	c.sent = c.sent[:0]
	return to, c.closed
}

// hand gives the client something to read.
func (c *conn) hand(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.got) == 0 {
		c.got = nil // the client may still hold what it was
	}
	c.got = append(c.got, data...)
	token(c.readable)
}

// sever ends the connection from the server's side.
func (c *conn) sever() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	token(c.readable)
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.deadline = t
	token(c.readable)
	return nil
}

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error { return c.SetReadDeadline(t) }

// SetWriteDeadline implements net.Conn: nothing is waited for.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return addr(c.name) }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return addr("memory") }

type addr string

func (a addr) Network() string { return "memory" }
func (a addr) String() string  { return string(a) }
