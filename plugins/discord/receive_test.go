package discord_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/discord"
	"agenthost/plugins/discord/discordtest"
	"agenthost/plugins/internal/inboxtest"
	"agenthost/plugins/settings"
)

// connected is a bot that is logged in, and what it has taken.
func connected(t *testing.T) (*inboxtest.Host, *discordtest.Server, *discord.Channel) {
	t.Helper()
	srv := discordtest.New(t)
	srv.Room(room)
	host := inboxtest.New(t)
	ch := channel(t, settings.Discord{API: srv.URL, Token: discordtest.Token})
	host.Start(ch, settings.Account{Groups: settings.GroupsAll}, plugins.StateConnected)
	return host, srv, ch
}

// said is what the tests look at of an envelope.
func said(in bus.Inbound) bus.Inbound {
	in.ID, in.SentAt, in.Media = "", "", nil
	return in
}

func TestReceive(t *testing.T) {
	t.Parallel()
	const at, role = "<@" + discordtest.BotID + ">", "<@&" + discordtest.RoleID + ">"
	host, srv, _ := connected(t)
	first := srv.Write(discordtest.Message{From: ana, Name: "Ana", Text: "first"})
	if in := host.Next(); in.ID != "dc-"+first {
		t.Errorf("its id is %q", in.ID)
	}
	tests := map[string]struct {
		message discordtest.Message
		want    bus.Inbound
	}{
		"a private message": {
			discordtest.Message{From: ana, Name: "Ana", Text: "hello"},
			bus.Inbound{From: ana, Name: "Ana", Text: "hello"},
		},
		"without a name": {
			discordtest.Message{From: bob, Text: "hello"},
			bus.Inbound{From: bob, Name: "user8", Text: "hello"},
		},
		"a message in a room": {
			discordtest.Message{From: ana, Name: "Ana", Room: room, Text: "hello"},
			bus.Inbound{From: ana, Name: "Ana", Chat: room, Group: true, Text: "hello"},
		},
		"a message in a thread": {
			discordtest.Message{From: ana, Name: "Ana", Room: room, Thread: threads, Text: "hello"},
			bus.Inbound{From: ana, Name: "Ana", Chat: room, Group: true, Thread: threads, Text: "hello"},
		},
		"an answer": {
			discordtest.Message{From: ana, Name: "Ana", Text: "hello", ReplyTo: first},
			bus.Inbound{From: ana, Name: "Ana", Text: "hello", ReplyTo: "dc-" + first},
		},
		"a mention": {
			discordtest.Message{From: ana, Name: "Ana", Room: room, Text: at + ", hello " + at + " there"},
			bus.Inbound{From: ana, Name: "Ana", Chat: room, Group: true, Text: "hello there"},
		},
		"the mention of its role": {
			discordtest.Message{From: ana, Name: "Ana", Room: room, Text: "hello " + role},
			bus.Inbound{From: ana, Name: "Ana", Chat: room, Group: true, Text: "hello"},
		},
		"the mention of another": {
			discordtest.Message{From: ana, Name: "Ana", Text: "hello <@8>"},
			bus.Inbound{From: ana, Name: "Ana", Text: "hello @name-8"},
		},
		"a mention and code": {
			discordtest.Message{From: ana, Name: "Ana", Room: room, Text: at + " fix this:\n```py\ndef f():\n    return  1\n```\nplease, " + at + " !"},
			bus.Inbound{From: ana, Name: "Ana", Chat: room, Group: true, Text: "fix this:\n```py\ndef f():\n    return  1\n```\nplease, !"},
		},
		"a call without words": {
			discordtest.Message{From: ana, Name: "Ana", Room: room, Text: at},
			bus.Inbound{From: ana, Name: "Ana", Chat: room, Group: true, Text: "@" + discordtest.BotName},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv.Write(tt.message)
			if diff := cmp.Diff(tt.want, said(host.Next())); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReceiveNothingFromBots(t *testing.T) {
	t.Parallel()
	host, srv, ch := connected(t)
	srv.WriteByHook(room, "from a program")
	deliver(t, ch, plugins.Message{Key: "k", Place: plugins.Place{Chat: room}, Text: "from itself"})
	srv.Write(discordtest.Message{From: ana, Room: room, Text: "from a person"})
	if got := host.Next().Text; got != "from a person" {
		t.Errorf("first comes %q", got)
	}
}

// What no client knows is no message, and holds up none.
func TestReceiveOddEvents(t *testing.T) {
	t.Parallel()
	host, srv, _ := connected(t)
	author := map[string]any{"id": ana, "username": "Ana"}
	itself := map[string]any{"id": "9", "channel_id": dm, "author": author}
	for kind, all := range map[string][]any{
		"MESSAGE_CREATE": {
			nil, "text",
			map[string]any{},
			map[string]any{"author": nil, "content": nil, "mentions": nil},
			map[string]any{"id": "5", "channel_id": dm, "content": 1e300, "author": author},
			map[string]any{"id": "6", "channel_id": dm, "content": "hello", "author": author, "timestamp": "never"},
			map[string]any{"id": "7", "channel_id": dm, "author": author, "mentions": []any{nil}, "attachments": []any{nil}},
			map[string]any{"id": "8", "channel_id": dm, "author": author, "referenced_message": itself, "message_reference": itself},
			map[string]any{"id": "10", "channel_id": dm, "author": author, "content": strings.Repeat("x", 10<<20)},
		},
		"MESSAGE_UPDATE":     {nil, map[string]any{"id": "5"}},
		"GUILD_CREATE":       {nil, map[string]any{"channels": []any{nil}, "threads": nil}},
		"CHANNEL_CREATE":     {nil, map[string]any{"id": nil}},
		"INTERACTION_CREATE": {nil, map[string]any{"type": 3}, map[string]any{"type": 3, "data": nil, "message": nil, "member": nil}},
		"TYPING_START":       {nil},
		"":                   {nil},
	} {
		for _, data := range all {
			srv.Event(kind, data)
		}
	}
	srv.Write(discordtest.Message{From: ana, Text: "from a person"})
	for {
		if got := host.Next().Text; got == "from a person" {
			return
		}
	}
}

func TestReceiveAnEdit(t *testing.T) {
	t.Parallel()
	host, srv, _ := connected(t)
	id := srv.Write(discordtest.Message{From: ana, Text: "https://shop.test"})
	first := host.Next()
	srv.Unfurl(id)
	srv.Edit(id, "hello")
	second := host.Next()
	if second.Edits != first.ID || second.ID == first.ID || second.Text != "hello" {
		t.Errorf("the edit is %+v", second)
	}
}

func TestReceiveAPress(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]plugins.Place{"in private": {To: ana}, "in a room": {To: ana, Chat: room}} {
		t.Run(name, func(t *testing.T) {
			host, srv, ch := connected(t)
			at := dm
			if place.Chat != "" {
				at = room
			}
			deliver(t, ch, plugins.Message{Key: "k", Place: place, Text: "sure?", Buttons: []plugins.Button{{Label: "approve", Data: "a.ana.x.y"}}})
			asked := only(t, srv, at)
			srv.Press(ana, "Ana", asked.ID, "a.ana.x.y")
			got := host.Next()
			if !strings.HasPrefix(got.ID, "dc-cb-") {
				t.Errorf("its id is %q", got.ID)
			}
			want := bus.Inbound{
				From: ana, Name: "Ana", Text: "approve", Answers: "ana.x.y", ReplyTo: "dc-" + asked.ID, Chat: place.Chat, Group: place.Chat != "",
			}
			if diff := cmp.Diff(want, said(got)); diff != "" {
				t.Error(diff)
			}
			answer, left := 7.0, 0
			if want.Group { // another person may have to decide
				answer, left = 6.0, 1
			}
			srv.Wait(t, "the answer to the press", func() bool { return len(srv.Calls("POST callback")) == 1 })
			srv.Wait(t, "the buttons to go", func() bool { return len(only(t, srv, at).Buttons) == left })
			if got := srv.Calls("POST callback")[0].Body["type"]; got != answer {
				t.Errorf("the press is answered with %v, want %v", got, answer)
			}
		})
	}
}

func TestGroupsTakeWhatIsForTheBot(t *testing.T) {
	t.Parallel()
	srv := discordtest.New(t)
	srv.Room(room)
	host := inboxtest.New(t)
	ch := channel(t, settings.Discord{API: srv.URL, Token: discordtest.Token})
	host.Start(ch, settings.Account{}, plugins.StateConnected)
	deliver(t, ch, plugins.Message{Key: "k", Place: plugins.Place{Chat: room}, Text: "hello"})
	for _, m := range []discordtest.Message{
		{Text: "among us"},
		{Text: "<@8> you"},
		{Text: "<@" + discordtest.BotID + "> one"},
		{Text: "two", ReplyTo: only(t, srv, room).ID},
		{Text: "<@&" + discordtest.RoleID + "> three"},
	} {
		m.From, m.Room = ana, room
		srv.Write(m)
	}
	for _, want := range []string{"one", "two", "three"} {
		if got := host.Next().Text; got != want {
			t.Errorf("it takes %q, want %q", got, want)
		}
	}
}

// TestResume: what was written while there was no connection comes, once.
func TestResume(t *testing.T) {
	t.Parallel()
	host, srv, _ := connected(t)
	say := func(text string) {
		t.Helper()
		srv.Write(discordtest.Message{From: ana, Text: text})
		if got := host.Next().Text; got != text {
			t.Fatalf("it takes %q, want %q", got, text)
		}
	}
	say("one")
	srv.AskToReconnect()
	say("two")
	srv.Disconnect(4000)
	say("three")
	if n := len(srv.Calls("identify")); n != 1 {
		t.Errorf("it logged in %d times", n)
	}
	if n := len(srv.Calls("resume")); n != 2 {
		t.Errorf("it resumed %d times", n)
	}
}

// A gateway that asks each connection for another is not connected to without a pause.
func TestReconnectsForEver(t *testing.T) {
	t.Parallel()
	srv, host := discordtest.New(t), inboxtest.New(t)
	srv.AskAlways(true)
	ch := channel(t, settings.Discord{API: srv.URL, Token: discordtest.Token})
	courier, _ := host.Start(ch, settings.Account{}, plugins.StateRetrying)
	waittest.Until(t, "the account pauses", func() bool {
		s := courier.Status()
		return s.State == plugins.StateRetrying && s.LastError == "discord asks for a new connection"
	})
	srv.AskAlways(false)
	waittest.Until(t, "the account is connected", func() bool { return courier.Status().State == plugins.StateConnected })
	srv.Write(discordtest.Message{From: ana, Text: "hello"})
	if got := host.Next().Text; got != "hello" {
		t.Errorf("it takes %q", got)
	}
}

// TestTheNextOwnerResumes: a host that is started after another goes on where that one
// was.
func TestTheNextOwnerResumes(t *testing.T) {
	t.Parallel()
	srv := discordtest.New(t)
	host := inboxtest.New(t)
	s := settings.Discord{API: srv.URL, Token: discordtest.Token}
	_, stop := host.Start(channel(t, s), settings.Account{}, plugins.StateConnected)
	srv.Write(discordtest.Message{From: ana, Text: "one"})
	host.Next()
	stop()
	srv.Write(discordtest.Message{From: ana, Text: "two"})
	host.Start(channel(t, s), settings.Account{}, plugins.StateConnected)
	if got := host.Next().Text; got != "two" {
		t.Errorf("it takes %q", got)
	}
	if n := len(srv.Calls("identify")); n != 1 {
		t.Errorf("there were %d sessions", n)
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prepare func(*discordtest.Server)
		token   string
		state   string
		says    string
	}{
		"a wrong token":         {func(*discordtest.Server) {}, "wrong", plugins.StateRefused, "Reset Token"},
		"one that is withdrawn": {func(s *discordtest.Server) { s.RefuseLogin(4004) }, discordtest.Token, plugins.StateRefused, "Reset Token"},
		"no intents":            {func(s *discordtest.Server) { s.RefuseLogin(4014) }, discordtest.Token, plugins.StateRefused, "Message Content Intent"},
		"too many servers":      {func(s *discordtest.Server) { s.RefuseLogin(4011) }, discordtest.Token, plugins.StateRefused, "2,500 servers"},
		"no logins left":        {func(s *discordtest.Server) { s.NoLogins() }, discordtest.Token, plugins.StateRetrying, "no more logins"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := discordtest.New(t)
			tt.prepare(srv)
			c, _ := inboxtest.New(t).Start(channel(t, settings.Discord{API: srv.URL, Token: tt.token}), settings.Account{}, tt.state)
			if got := c.Status().LastError; !strings.Contains(got, tt.says) || strings.Contains(got, discordtest.Token) {
				t.Errorf("the error is %q", got)
			}
		})
	}
}
