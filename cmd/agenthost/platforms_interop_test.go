//go:build interop

package main

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"agenthost/internal/waittest"
	"agenthost/plugins/email/emailtest"
	"agenthost/plugins/irc/irctest"
	"agenthost/plugins/matrix/matrixtest"
)

// realServers start the servers that people run, each for a channel. What they return
// opens an account of its own there, with a person.
var realServers = map[string]func(t *testing.T) func(t *testing.T) platform{
	"email": realMail, "matrix": realMatrix, "irc": realIRC,
}

// realMail is dovecot and OpenSMTPD. The latter brings two mails in any order.
func realMail(t *testing.T) func(t *testing.T) platform {
	whole := emailtest.NewHouse(t)
	var accounts atomic.Int64
	return func(t *testing.T) platform {
		h := whole.Of(t, int(accounts.Add(1)))
		written := 0
		return platform{
			settings: fmt.Sprintf("{address: %s@localhost, imap: {server: '127.0.0.1:%s', user: %s, password: pw, tls: 'off'}, smtp: {server: '127.0.0.1:%s', tls: 'off'}}",
				h.Bot, h.IMAP, h.Bot, h.SMTP),
			write: func(text string) {
				written++
				h.Swaks("--header", fmt.Sprintf("Message-Id: <%d@%s>", written, h.Human), "--header", "References: <root@human>", "--body", text)
				waittest.Until(t, "the mail has arrived", func() bool { return len(h.Mails(h.Bot)) >= written })
			},
			texts: func() []string { return shownMails(h.Mails(h.Human)) },
			sent:  func() int { return len(h.Mails(h.Human)) },
			once:  true, unsorted: true,
		}
	}
}

// realMatrix is Synapse, with a person who uses matrix-nio.
func realMatrix(t *testing.T) func(t *testing.T) platform {
	s := matrixtest.StartSynapse(t, "rc_joins: {local: {per_second: 100, burst_count: 100}}\n"+
		"rc_invites: {per_room: {per_second: 100, burst_count: 100}, per_user: {per_second: 100, burst_count: 100}, per_issuer: {per_second: 100, burst_count: 100}}")
	admin := s.Login(s.Register("admin", "a", true), "a")
	ana := matrixtest.NewPerson(t, s.URL, s.Register("ana", "a", false), "a")
	s.Unlimited(admin, ana.ID)
	var accounts atomic.Int64
	return func(*testing.T) platform {
		name := fmt.Sprintf("bot%d", accounts.Add(1))
		bot := s.Register(name, "secret", false)
		s.Unlimited(admin, bot)
		room := sync.OnceValue(func() string { // once the account is there to join it
			id := ana.Room(true, bot)
			ana.SawJoin(id, bot)
			return id
		})
		return platform{
			settings: fmt.Sprintf("{homeserver: %q, user: %s, password: secret}", s.URL, name),
			write:    func(text string) { ana.Say(room(), text) },
			texts: func() []string {
				return textsOf(ana.Seen(room()), func(e matrixtest.Seen) string { return e.Content.Body })
			},
			once: true,
		}
	}
}

// realIRC is ergo, which keeps what was said in a channel meanwhile.
func realIRC(t *testing.T) func(t *testing.T) platform {
	server := irctest.Ergo(t, false)
	server.Up(t)
	var accounts atomic.Int64
	return func(t *testing.T) platform {
		n := accounts.Add(1)
		bot, room := fmt.Sprintf("bot%d", n), fmt.Sprintf("#room%d", n)
		ana := irctest.NewHuman(t, server.Address, fmt.Sprintf("ana%d", n))
		ana.Join(t, room)
		joined := sync.OnceFunc(func() { // a history is read from the first time on that the account is there
			waittest.Until(t, bot+" joins "+room, func() bool { return strings.Contains(ana.Read(room), "-!- "+bot+"(") })
		})
		return platform{
			settings: fmt.Sprintf("{server: %q, tls: false, nick: %s, join: [%q], rate: 1000}", server.Address, bot, room),
			write: func(text string) {
				joined()
				ana.Write(t, room, bot+": "+text)
			},
			texts: func() []string { return ana.Lines(room, bot) },
			talk:  func() string { return ana.Read(room) },
		}
	}
}

// ngircd has no extensions: what is said while an account is away is lost.
func ngircd(t *testing.T) func(t *testing.T) platform {
	server := irctest.NGIRCd(t, false)
	server.Up(t)
	var accounts atomic.Int64
	return func(t *testing.T) platform {
		n := accounts.Add(1)
		bot := fmt.Sprintf("bot%d", n)
		ana := irctest.NewHuman(t, server.Address, fmt.Sprintf("ana%d", n))
		return platform{
			settings: fmt.Sprintf("{server: %q, tls: false, nick: %s, rate: 1000}", server.Address, bot),
			write:    func(text string) { ana.Tell(t, bot, text) },
			texts:    func() []string { return ana.Lines(bot, bot) },
		}
	}
}
