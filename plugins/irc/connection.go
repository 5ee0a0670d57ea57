package irc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ergochat/irc-go/ircmsg"

	"agenthost/plugins/settings"
)

const (
	longestLine   = 16 << 10 // with tags
	loginWithin   = time.Minute
	quitWithin    = 2 * time.Second
	writeWithin   = 30 * time.Second
	silence       = time.Minute // then the server is asked whether it is there
	silenceAnswer = 30 * time.Second
)

// A connection is one login. One goroutine reads from it, and any may write.
type connection struct {
	conn     net.Conn
	lines    *bufio.Reader
	settings settings.IRC
	caps     map[string]string // what is agreed on; it does not change after login
	support  map[string]string // what the server says of itself; likewise
	early    []ircmsg.Message  // what came amid the greeting and is for the session
	greeted  time.Time         // by the clock of the server, where it says its time
	unheard  chan struct{}     // a place for each line of which the server has not said that it has it

	interrupted atomic.Bool

	mu       sync.Mutex
	nick     string            // what it is called now
	absent   map[string]string // channels that it is not in, and why
	receipts map[string]*receipt
	labels   int
	people   map[string]person // who are logged in, by account
}

func (c *Channel) connect(ctx context.Context) (*connection, error) {
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.settings.Server, err)
	}
	return &connection{
		conn: conn, lines: bufio.NewReaderSize(conn, longestLine), settings: c.settings,
		caps: map[string]string{}, support: map[string]string{}, unheard: make(chan struct{}, burst),
		absent: map[string]string{}, receipts: map[string]*receipt{}, people: map[string]person{},
	}, nil
}

func (c *connection) close() { _ = c.conn.Close() }

var errInterrupted = errors.New("the account is about to log out")

// interrupt ends the read under way, and has the next ones fail, until quit.
func (c *connection) interrupt() {
	c.interrupted.Store(true)
	_ = c.conn.SetReadDeadline(time.Now()) // on a closed connection nothing reads
}

// quit says goodbye and waits for the end: the nick is free then.
func (c *connection) quit() error {
	c.interrupted.Store(false)
	defer time.AfterFunc(quitWithin, c.close).Stop()
	if err := c.write("QUIT"); err != nil {
		return err
	}
	for {
		if _, err := c.read(); err != nil {
			return nil // the end is what was asked for
		}
	}
}

// write sends one line.
func (c *connection) write(command string, params ...string) error {
	return c.send(nil, command, params...)
}

func (c *connection) send(tags map[string]string, command string, params ...string) error {
	m := ircmsg.MakeMessage(tags, "", command, params...)
	line, err := m.LineBytesStrict(true, lineLength)
	if err != nil {
		return fmt.Errorf("line for %s: %w", command, err)
	}
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return err
	}
	_, err = c.conn.Write(line)
	return err
}

// read returns the next line that is one. It answers PING by itself, and asks the
// server whether it is there when it has been silent for long.
func (c *connection) read() (ircmsg.Message, error) {
	for {
		line, err := c.readLine()
		if err != nil {
			return ircmsg.Message{}, err
		}
		m, err := ircmsg.ParseLine(line)
		switch {
		case err != nil:
			continue // a malformed line is ignored
		case m.Command == "PING":
			if err := c.write("PONG", m.Params...); err != nil {
				return m, err
			}
		case m.Command == "ERROR":
			return m, fmt.Errorf("the server has ended the connection: %s", last(m))
		default:
			return m, nil
		}
	}
}

// readLine reads a line without its end. What is too long is skipped.
func (c *connection) readLine() (string, error) {
	var line []byte
	skip, asked := false, false
	for {
		wait := silence
		if asked {
			wait = silenceAnswer
		}
		if err := c.conn.SetReadDeadline(time.Now().Add(wait)); err != nil {
			return "", err
		}
		if c.interrupted.Load() {
			return "", errInterrupted
		}
		piece, err := c.lines.ReadSlice('\n')
		switch {
		case err != nil && c.interrupted.Load():
			return "", errInterrupted
		case err == nil && skip:
			skip = false
		case err == nil:
			return strings.TrimRight(string(append(line, piece...)), "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
			line, skip = nil, true
		case errors.Is(err, os.ErrDeadlineExceeded) && !asked:
			line, asked = append(line, piece...), true
			if err := c.write("PING", "alive"); err != nil {
				return "", err
			}
		case errors.Is(err, os.ErrDeadlineExceeded):
			return "", fmt.Errorf("the server has been silent for %s", silence+silenceAnswer)
		case errors.Is(err, io.EOF):
			return "", errors.New("the server has closed the connection")
		default:
			return "", err
		}
	}
}

// as says what the account is called, and what is not as it was meant.
func (c *connection) as() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	as := c.nick
	if c.fold(as) != c.fold(c.settings.Nick) {
		as += " (the nick " + c.settings.Nick + " is in use)"
	}
	for _, name := range c.settings.Join {
		if why := c.absent[c.fold(name)]; why != "" && why != notJoined {
			as += "; not in " + name + ": " + why
		}
	}
	return as
}

func (c *connection) myNick() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.nick
}

// isMe reports whether a nick is the account's own.
func (c *connection) isMe(nick string) bool { return c.fold(nick) == c.fold(c.myNick()) }

func (c *connection) fold(name string) string { return fold(name, c.support["CASEMAPPING"]) }

func (c *connection) has(capability string) bool {
	_, ok := c.caps[capability]
	return ok
}

// last is what a line says to people.
func last(m ircmsg.Message) string {
	if len(m.Params) == 0 {
		return m.Command
	}
	return plain(m.Params[len(m.Params)-1])
}

func param(m ircmsg.Message, i int) string {
	if i >= len(m.Params) {
		return ""
	}
	return m.Params[i]
}
