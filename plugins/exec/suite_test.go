package exec_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/exec"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
)

// relay is the variable that makes this test binary a plugin, which passes its lines
// on to a test and back.
const relay = "EXEC_TEST_RELAY"

func TestMain(m *testing.M) {
	if address := os.Getenv(relay); address != "" {
		runRelay(address)
		return
	}
	exec.StopSoon()
	bustest.ManyAtOnce()
	os.Exit(m.Run())
}

func runRelay(address string) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		_ = conn.(*net.TCPConn).CloseWrite()
		if os.Getenv("STUBBORN") == "" {
			_ = conn.Close()
		}
	}()
	_, _ = io.Copy(os.Stdout, conn)
	if os.Getenv("STUBBORN") != "" {
		select {}
	}
}

// A platform is the other side of the relay.
type platform struct {
	testing.TB
	listener net.Listener

	mu       sync.Mutex
	conn     net.Conn // of the program that runs now
	lines    []map[string]any
	sent     []bus.Outbound
	ids      map[string]bool
	failures []map[string]any // of the next messages
	silent   bool             // nothing is said to be delivered
	atStop   bool             // that is said only at the stop
	last     string
	written  int
}

func newPlatform(t testing.TB) *platform {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &platform{TB: t, listener: l, ids: map[string]bool{}}
	var group sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); group.Wait() })
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.conn = conn
			p.mu.Unlock()
			group.Go(func() { p.read(conn) })
		}
	})
	return p
}

func (p *platform) read(conn net.Conn) {
	defer func() {
		_ = conn.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.conn == conn {
			p.conn = nil
		}
	}()
	for lines := bufio.NewReader(conn); ; {
		text, err := lines.ReadString('\n')
		if err != nil {
			return
		}
		var l struct {
			Type    string
			Message bus.Outbound
		}
		var fields map[string]any
		if json.Unmarshal([]byte(text), &l) != nil || json.Unmarshal([]byte(text), &fields) != nil {
			p.Errorf("the program got %q", text)
			return
		}
		p.hear(conn, l.Type, l.Message, fields)
	}
}

func (p *platform) hear(conn net.Conn, kind string, m bus.Outbound, fields map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lines = append(p.lines, fields)
	if p.atStop && kind == "outbound" {
		p.sent = append(p.sent, m)
		return
	}
	if kind == "stop" {
		for _, m := range p.sent {
			if p.atStop {
				say(conn, map[string]any{"type": "delivered", "id": m.ID})
			}
		}
	}
	if kind != "outbound" || p.silent {
		return
	}
	if len(p.failures) > 0 {
		failure := p.failures[0]
		p.failures = p.failures[1:]
		failure["type"], failure["id"] = "failed", m.ID
		say(conn, failure)
		return
	}
	if !p.ids[m.ID] {
		p.ids[m.ID] = true
		p.sent = append(p.sent, m)
	}
	say(conn, map[string]any{"type": "delivered", "id": m.ID})
}

func say(w io.Writer, line any) {
	data, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(append(data, '\n')) // the program may be gone
}

// raw writes a line as it is, once a program runs.
func (p *platform) raw(text string) {
	bustest.Eventually(p, "the program runs", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.conn == nil {
			return false
		}
		_, err := io.WriteString(p.conn, text+"\n")
		return err == nil
	})
}

func (p *platform) write(message map[string]any) {
	data, err := json.Marshal(map[string]any{"type": "inbound", "message": message})
	if err != nil {
		p.Fatal(err)
	}
	p.last = string(data)
	p.raw(p.last)
}

// heard are the lines of a type that the program got.
func (p *platform) heard(kind string) (list []map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.lines {
		if l["type"] == kind {
			list = append(list, l)
		}
	}
	return list
}

func (p *platform) fail(failure map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failures = append(p.failures, failure)
}

// crash ends the program that runs.
func (p *platform) crash() {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.conn.Close()
}

func (p *platform) settings(env ...string) settings.Exec {
	self, err := os.Executable()
	if err != nil {
		p.Fatal(err)
	}
	cfg := settings.Exec{Command: []string{self}, Env: map[string]string{relay: p.listener.Addr().String()}}
	for _, name := range env {
		cfg.Env[name] = "1"
	}
	return cfg
}

func (p *platform) channel() plugins.Channel {
	c, err := exec.New("suite", p.settings(), bustest.Log(p))
	if err != nil {
		p.Fatal(err)
	}
	return c
}

func (p *platform) shown(plugintest.Chat) (list []plugintest.Sent) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range p.sent {
		text := m.Text
		for _, file := range m.Media {
			text = strings.TrimSpace(text + " " + file.Name)
		}
		list = append(list, plugintest.Sent{Text: text})
	}
	return list
}

func TestSuite(t *testing.T) {
	t.Parallel()
	plugintest.Run(t, plugintest.Suite{New: func(t testing.TB) plugintest.Platform {
		p := newPlatform(t)
		return plugintest.Platform{
			Channel: p.channel,
			Write: func(w plugintest.Written) {
				p.written++
				p.write(map[string]any{"id": fmt.Sprintf("m-%d", p.written), "from": "ana", "text": w.Text})
			},
			Sent:       p.shown,
			Repeat:     func() { p.raw(p.last) },
			RateLimit:  func(wait time.Duration) { p.fail(map[string]any{"error": "slower", "retry_after": wait.String()}) },
			Refuse:     func() { p.fail(map[string]any{"error": "never", "permanent": true}) },
			Fail:       func() { p.fail(map[string]any{"error": "not now"}) },
			Disconnect: p.crash,
		}
	}})
}
