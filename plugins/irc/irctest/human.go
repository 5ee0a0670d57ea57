package irctest

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"agenthost/internal/interop"
	"agenthost/internal/waittest"
)

// A Human is a person at the client ii, whose talks are files.
type Human struct {
	dir, nick string

	mu   sync.Mutex
	open map[string]*os.File // by talk
}

// NewHuman starts the client and waits until it is logged in.
func NewHuman(t testing.TB, address, nick string) *Human {
	t.Helper()
	program, dir := interop.Program(t, "ii"), t.TempDir()
	host, port, _ := net.SplitHostPort(address)
	launch(t, dir, program, "-s", host, "-p", port, "-n", nick, "-i", dir)
	h := &Human{dir: filepath.Join(dir, host), nick: nick, open: map[string]*os.File{}}
	t.Cleanup(h.close)
	waittest.Until(t, "the client is greeted", func() bool { return strings.Contains(h.Read(""), "End of M") || strings.Contains(h.Read(""), "MOTD") })
	return h
}

// Write puts a line into a talk: a nick or a channel; "": a command. The pipe stays open:
// where it ends the client opens it again, and a line that is written in between may be lost.
func (h *Human) Write(t testing.TB, talk, text string) {
	t.Helper()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.open[talk] == nil {
		f, err := os.OpenFile(filepath.Join(h.dir, talk, "in"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		h.open[talk] = f
	}
	if _, err := fmt.Fprintln(h.open[talk], text); err != nil {
		t.Fatal(err)
	}
}

func (h *Human) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.open {
		f.Close()
	}
}

// Read is what the client shows in a talk.
func (h *Human) Read(talk string) string {
	b, _ := os.ReadFile(filepath.Join(h.dir, talk, "out"))
	return string(b)
}

// Lines are what a nick has said in a talk.
func (h *Human) Lines(talk, nick string) []string {
	var lines []string
	for line := range strings.Lines(h.Read(talk)) {
		if _, said, ok := strings.Cut(line, "<"+nick+"> "); ok {
			lines = append(lines, strings.TrimSuffix(said, "\n"))
		}
	}
	return lines
}

// Join enters a channel. The client makes its files before the server has let it in: who writes
// to the channel until then is not heard.
func (h *Human) Join(t testing.TB, channel string) {
	t.Helper()
	h.Write(t, "", "/j "+channel)
	waittest.Until(t, "the client is in the channel", func() bool { return strings.Contains(h.Read(channel), "-!- "+h.nick+"(") })
}

// Tell writes to a person.
func (h *Human) Tell(t testing.TB, nick, text string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(h.dir, nick, "in")); err != nil {
		h.Write(t, "", "/j "+nick+" "+text)
		// What is written into two files of ii goes out in any order.
		waittest.Until(t, "the talk is there", func() bool { _, err := os.Stat(filepath.Join(h.dir, nick, "in")); return err == nil })
		return
	}
	h.Write(t, nick, text)
}
