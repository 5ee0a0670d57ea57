// Package irctest is an IRC server for tests: what it offers can be chosen, and what it
// answers to a command.
package irctest

import (
	"bufio"
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
)

// AllCaps are the extensions with which nothing is lost.
const AllCaps = "account-tag batch draft/chathistory echo-message labeled-response message-tags sasl=PLAIN,EXTERNAL server-time"

// A Server is enough of an IRC server to try what real ones do seldom. The fields are
// set before an account logs in.
type Server struct {
	Answers  map[string]string // the answer to a command, with %s for the nick
	Taken    string            // a nick
	Accounts map[string]string // who is logged in, by nick
	History  func(selector []string) []string
	Quits    func()        // is called before an account is let go
	Support  string        // what it says of itself besides
	Ahead    time.Duration // how far its clock is ahead

	t        testing.TB
	listener net.Listener
	caps     string // what it offers

	mu    sync.Mutex
	conns []net.Conn
	got   []string
	nick  string
	ids   int
	past  []past
}

// New starts a server that offers extensions, until t ends.
func New(t testing.TB, caps string) *Server {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return On(t, l, caps)
}

// On is New on a listener.
func On(t testing.TB, l net.Listener, caps string) *Server {
	s := &Server{t: t, listener: l, caps: caps, Answers: map[string]string{}}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			wg.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() { l.Close(); s.HangUp(); wg.Wait() })
	return s
}

// Answer sets the answer to a command while an account is logged in.
func (s *Server) Answer(command, line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Answers[command] = line
}

// Offer has the next login get other extensions.
func (s *Server) Offer(caps string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.caps = caps
}

// Address is host and port.
func (s *Server) Address() string { return s.listener.Addr().String() }

// HangUp ends all connections.
func (s *Server) HangUp() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		conn.Close()
	}
	s.conns = nil
}

// Say sends a line to the channel.
func (s *Server) Say(format string, arguments ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, conn := range s.conns {
		fmt.Fprintf(conn, format+"\r\n", arguments...)
	}
}

// Lines are those that came with a command.
func (s *Server) Lines(command string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for _, line := range s.got {
		if strings.Contains(" "+line, " "+command+" ") {
			lines = append(lines, line)
		}
	}
	return lines
}

func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewScanner(conn)
	for in.Scan() {
		line := strings.TrimRight(in.Text(), "\r")
		m, err := ircmsg.ParseLine(line)
		if err != nil {
			s.t.Errorf("line %q: %v", line, err)
			continue
		}
		if m.Command == "QUIT" && s.Quits != nil {
			s.Quits()
		}
		s.mu.Lock()
		s.got = append(s.got, line)
		for _, answer := range s.answer(m) {
			fmt.Fprintf(conn, "%s\r\n", answer)
		}
		s.mu.Unlock()
	}
}

func (s *Server) answer(m ircmsg.Message) []string {
	if answer, ok := s.Answers[m.Command]; ok {
		if answer == "" {
			return nil
		}
		return []string{strings.ReplaceAll(answer, "%s", s.nick)}
	}
	switch m.Command {
	case "CAP":
		switch m.Params[0] {
		case "LS":
			return []string{":s CAP * LS :" + s.caps}
		case "REQ":
			return []string{":s CAP * ACK :" + m.Params[1]}
		case "END":
			return s.welcome()
		}
	case "AUTHENTICATE":
		if m.Params[0] == "PLAIN" {
			return []string{"AUTHENTICATE +"}
		}
		secret, _ := base64.StdEncoding.DecodeString(m.Params[0])
		if string(secret) != "\x00bot\x00pw" {
			return []string{":s 904 bot :SASL authentication failed"}
		}
		return []string{":s 903 bot :done"}
	case "NICK":
		if m.Params[0] == s.Taken {
			return []string{":s 433 * " + s.Taken + " :in use"}
		}
		s.nick = m.Params[0]
	case "QUIT":
		return []string{"ERROR :bye"}
	case "PING":
		return []string{":s PONG s :" + m.Params[0]}
	case "WHOIS":
		lines := []string{":s 318 " + s.nick + " " + m.Params[0] + " :End"}
		if account, ok := s.Accounts[m.Params[0]]; ok {
			lines = append([]string{":s 330 " + s.nick + " " + m.Params[0] + " " + account + " :is logged in as"}, lines...)
		}
		return lines
	case "JOIN":
		return []string{fmt.Sprintf(":%s!b@h JOIN %s", s.nick, m.Params[0])}
	case "PRIVMSG":
		return s.echo(m)
	case "CHATHISTORY":
		lines := []string{":s BATCH +h chathistory " + m.Params[1]}
		if m.Params[0] == "TARGETS" {
			lines = []string{":s BATCH +h draft/chathistory-targets"}
		}
		if s.History != nil {
			lines = slices.Concat(lines, s.History(m.Params))
		} else {
			lines = slices.Concat(lines, s.remembered(m.Params))
		}
		return append(lines, ":s BATCH -h")
	}
	return nil
}

func (s *Server) welcome() []string {
	return []string{
		"@time=" + stamp(s.Ahead) + " :s 001 " + s.nick + " :Welcome",
		":s 005 " + s.nick + strings.TrimRight(" CASEMAPPING=ascii CHATHISTORY=3 "+s.Support, " ") + " :are supported", ":s 376 " + s.nick + " :End",
	}
}

func (s *Server) echo(m ircmsg.Message) []string {
	ok, label := m.GetTag("label")
	if !ok {
		return nil
	}
	s.ids++
	return []string{fmt.Sprintf("@label=%s;msgid=id%d :%s!b@h PRIVMSG %s :%s", label, s.ids, s.nick, m.Params[0], m.Params[1])}
}
