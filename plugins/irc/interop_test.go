//go:build interop

package irc

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"unicode/utf8"

	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/irc/irctest"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
)

var off = false

var networks = map[string]struct {
	make  func(t testing.TB, throttled bool) *irctest.Network
	human string // who the human is
}{
	"ngircd": {irctest.NGIRCd, "human"},
	"ergo":   {irctest.Ergo, "~human"},
}

func TestInterop(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := n.make(t, true)
			server.Up(t)
			in := &memory{}
			// Under another nick: ergo closes a connection before it has freed the nick.
			as, err := channel(t, settings.IRC{Server: server.Address, TLS: &off, Nick: "look"}).Check(t.Context())
			if err != nil || as != "look" {
				t.Fatalf("check: %q, %v", as, err)
			}
			c := channel(t, settings.IRC{Server: server.Address, TLS: &off, Nick: "bot", Join: []string{"#room"}})
			stop := serve(t, c, in)
			waittest.Until(t, "the account is logged in", func() bool { return in.name() == "bot" })
			ana := irctest.NewHuman(t, server.Address, "human")
			ana.Join(t, "#room")

			ana.Tell(t, "bot", "hello grüße")
			m := in.next(t, 1)
			if m.Text != "hello grüße" || m.From != n.human || m.Chat != "" || m.Group || m.Name != "human" {
				t.Errorf("direct message: %+v", m)
			}
			deliver(t, c, plugins.Message{Place: plugins.Place{To: m.From}, Text: "hello back"})
			waittest.Until(t, "the person reads the reply", func() bool {
				return strings.Join(ana.Lines("human", "bot"), "")+strings.Join(ana.Lines("bot", "bot"), "") == "hello back"
			})

			ana.Write(t, "#room", "bot: what is up")
			m = in.next(t, 2)
			if m.Text != "what is up" || m.Chat != "#room" || !m.Group || !m.Mentioned {
				t.Errorf("mention: %+v", m)
			}
			room := plugins.Place{To: m.From, Chat: m.Chat}
			deliver(t, c, plugins.Message{Place: room, Text: "the sky"})
			waittest.Until(t, "the channel reads the reply", func() bool { return strings.Join(ana.Lines("#room", "bot"), "|") == "the sky" })

			long(t, c, ana, room)
			overLong(t, c, ana, room)
			reconnect(t, server, c, in)
			stop()
			if len(in.messages()) < 3 {
				t.Error("nothing after the restart")
			}
		})
	}
}

// 14,000 characters are more than 30 lines at once: no server hangs up.
func long(t *testing.T, c *Channel, ana *irctest.Human, room plugins.Place) {
	t.Helper()
	var text strings.Builder
	for i := 0; utf8.RuneCountInString(text.String()) < 14000; i++ {
		fmt.Fprintf(&text, "%d größer… ", i)
	}
	before := len(ana.Lines("#room", "bot"))
	for _, line := range cut(text.String(), c.Limits().Text) {
		if _, err := c.Deliver(t.Context(), plugins.Message{Place: room, Text: line}); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "all of the text", func() bool {
		return squeezed(strings.Join(ana.Lines("#room", "bot")[before:], "")) == squeezed(text.String())
	})
}

// squeezed is a text without spaces: clients drop them at the ends of lines.
func squeezed(text string) string { return strings.ReplaceAll(text, " ", "") }

func overLong(t *testing.T, c *Channel, ana *irctest.Human, room plugins.Place) {
	t.Helper()
	before := len(ana.Lines("#room", "bot"))
	text := strings.Repeat("€", 1000)
	deliver(t, c, plugins.Message{Place: room, Text: text})
	waittest.Until(t, "the cut line", func() bool { return strings.Join(ana.Lines("#room", "bot")[before:], "") == text })
	for _, line := range ana.Lines("#room", "bot") {
		if !utf8.ValidString(line) {
			t.Errorf("cut inside a rune: %q", line)
		}
	}
}

// reconnect kills the server, and has a person talk once it is there again.
func reconnect(t *testing.T, server *irctest.Network, c *Channel, in *memory) {
	t.Helper()
	server.Kill()
	if _, err := c.Deliver(t.Context(), plugins.Message{Place: plugins.Place{To: "human"}, Text: "lost?"}); err == nil {
		t.Error("delivered to a dead server")
	}
	known := len(in.as)
	server.Up(t)
	waittest.Until(t, "logged in again", func() bool {
		in.mu.Lock()
		defer in.mu.Unlock()
		return len(in.as) > known+1 && in.as[len(in.as)-1] == "bot"
	})
	again := irctest.NewHuman(t, server.Address, "human")
	again.Join(t, "#room")
	n := len(in.messages())
	again.Write(t, "#room", "are you there, bot?")
	if m := in.next(t, n+1); m.Text != "are you there?" || !m.Mentioned {
		t.Errorf("after the restart: %+v", m)
	}
	deliver(t, c, plugins.Message{Place: plugins.Place{Chat: "#room"}, Text: "I am"})
	waittest.Until(t, "the reply after the restart", func() bool { return strings.Join(again.Lines("#room", "bot"), "") == "I am" })
}

// Ergo has what makes IRC reliable: ids, receipts and the lines that were missed.
func TestInteropHistory(t *testing.T) {
	server := irctest.Ergo(t, false)
	server.Up(t)
	in := &memory{}
	s := settings.IRC{Server: server.Address, TLS: &off, Nick: "bot", Join: []string{"#room"}}
	stop := serve(t, channel(t, s), in)
	waittest.Until(t, "logged in", func() bool { return in.name() == "bot" })
	ana := irctest.NewHuman(t, server.Address, "human")
	ana.Join(t, "#room")
	ana.Write(t, "#room", "one")
	first := in.next(t, 1)
	if strings.Contains(first.ID, "/") || first.ID == "" {
		t.Errorf("id %q is not the server's", first.ID)
	}
	waittest.Until(t, "how far is noted", func() bool { return len(in.noted()) == 2 })
	stop()

	bea := irctest.NewHuman(t, server.Address, "bea")
	bea.Join(t, "#room")
	want := []string{"one"}
	for i := range 60 { // more than a page
		ana.Write(t, "#room", fmt.Sprintf("missed %d", i))
		want = append(want, fmt.Sprintf("missed %d", i))
	}
	waittest.Until(t, "all is said", func() bool { return len(bea.Lines("#room", "human")) == 60 })
	c := channel(t, s)
	serve(t, c, in)
	in.next(t, 61)
	ana.Write(t, "#room", "live")
	in.next(t, 62)
	want = append(want, "live")
	var got []string
	for _, m := range in.messages() {
		got = append(got, m.Text)
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got %q", got)
	}
	if id := deliver(t, c, plugins.Message{Place: plugins.Place{Chat: "#room"}, Text: "receipt"}); id == "" {
		t.Error("the receipt has no id")
	}
}

func (in *memory) noted() map[string][]byte {
	in.mu.Lock()
	defer in.mu.Unlock()
	return maps.Clone(in.notes)
}

// clients are people at ii.
type clients struct {
	t   testing.TB
	all map[string]*irctest.Human
}

func (c clients) write(nick, target, text string) {
	if target == "bot" {
		c.all[nick].Tell(c.t, target, text)
		return
	}
	c.all[nick].Write(c.t, target, text)
}

func (c clients) sent(target string) []string {
	if target == "#room" {
		return c.all["ana"].Lines(target, "bot")
	}
	return append(c.all[target].Lines(target, "bot"), c.all[target].Lines("bot", "bot")...)
}

// The suite of channels, with a real server and a real client.
func TestInteropSuite(t *testing.T) {
	for name, n := range networks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			plugintest.Run(t, plugintest.Suite{New: func(t testing.TB) plugintest.Platform {
				server := n.make(t, false)
				server.Up(t)
				who := clients{t, map[string]*irctest.Human{}}
				for _, nick := range []string{"ana", "ben"} {
					who.all[nick] = irctest.NewHuman(t, server.Address, nick)
					who.all[nick].Join(t, "#room")
				}
				return platform(t, settings.IRC{Server: server.Address, TLS: &off, Nick: "bot", Join: []string{"#room"}, Rate: 20}, who)
			}})
		})
	}
}

// Ergo marks what a bot says, and has the account say that it is one.
func TestInteropBots(t *testing.T) {
	server := irctest.Ergo(t, false)
	server.Up(t)
	one, other := &memory{}, &memory{}
	s := settings.IRC{Server: server.Address, TLS: &off, Nick: "bot", Join: []string{"#room"}, Rate: 20}
	serve(t, channel(t, s), one)
	s.Nick = "other"
	c := channel(t, s)
	serve(t, c, other)
	waittest.Until(t, "both are logged in", func() bool { return one.name() == "bot" && other.name() == "other" })
	ana := irctest.NewHuman(t, server.Address, "human")
	ana.Join(t, "#room")
	deliver(t, c, plugins.Message{Place: plugins.Place{Chat: "#room"}, Text: "bot: hello"})
	deliver(t, c, plugins.Message{Place: plugins.Place{To: "~bot"}, Text: "hello"})
	waittest.Until(t, "the person reads it", func() bool { return len(ana.Lines("#room", "other")) == 1 })
	ana.Write(t, "#room", "bot: and I")
	if m := one.next(t, 1); m.Text != "and I" {
		t.Errorf("got %+v", m)
	}
}
