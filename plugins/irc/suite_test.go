package irc

import (
	"testing"

	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/irc/irctest"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
)

// A people is who the account talks to.
type people interface {
	// write says something to a nick or in a channel.
	write(nick, target, text string)
	// sent is what the account has said to a person or in a channel.
	sent(target string) []string
}

// platform is a network as the suite sees it.
func platform(t testing.TB, account settings.IRC, who people) plugintest.Platform {
	var c *Channel
	ready := func() {
		waittest.Until(t, "the account is in its channel", func() bool {
			conn := c.live.Load()
			return conn != nil && !conn.isAbsent("#room")
		})
	}
	target := map[plugintest.Chat]string{plugintest.Direct: "ana", plugintest.Group: "#room"}
	return plugintest.Platform{
		Channel: func() plugins.Channel {
			var err error
			if c, err = New(account); err != nil {
				t.Fatal(err)
			}
			return c
		},
		Write: func(w plugintest.Written) {
			ready()
			nick, to, text := "ana", "bot", w.Text
			if w.Other {
				nick = "ben"
			}
			if w.Chat == plugintest.Group {
				to = "#room"
			}
			if w.Mention {
				text = "bot: " + text
			}
			who.write(nick, to, text)
		},
		Sent: func(chat plugintest.Chat) (sent []plugintest.Sent) {
			for _, line := range who.sent(target[chat]) {
				sent = append(sent, plugintest.Sent{Text: line})
			}
			return sent
		},
		Disconnect: func() {
			lost := c.live.Load()
			lost.close()
			waittest.Until(t, "the connection is lost", func() bool { return c.live.Load() != lost })
			ready()
		},
	}
}

// persons are at the fake server.
type persons struct{ s *irctest.Server }

func (p persons) write(nick, target, text string) { p.s.Write(nick, target, text) }

func (p persons) sent(target string) []string { return p.s.Said(target) }

func TestSuite(t *testing.T) {
	t.Parallel()
	for name, caps := range map[string]string{"without extensions": few, "with all": irctest.AllCaps} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plugintest.Run(t, plugintest.Suite{New: func(t testing.TB) plugintest.Platform {
				s := irctest.New(t, caps)
				return platform(t, account(s, nil), persons{s})
			}})
		})
	}
}
