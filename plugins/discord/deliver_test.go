package discord_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/plugins"
	"agenthost/plugins/discord"
	"agenthost/plugins/discord/discordtest"
	"agenthost/plugins/settings"
)

const (
	ana     = "7"
	room    = "77"
	threads = "78" // in room
)

var dm = discordtest.PrivateRoom(ana)

// open is a channel on a server on which Ana has written, in private and in a room.
func open(t *testing.T) (*discord.Channel, *discordtest.Server) {
	t.Helper()
	srv := discordtest.New(t)
	srv.Write(discordtest.Message{From: ana, Name: "Ana", Text: "hello"})
	srv.Write(discordtest.Message{From: ana, Name: "Ana", Room: room, Text: "hello"})
	srv.Write(discordtest.Message{From: ana, Name: "Ana", Room: room, Thread: threads, Text: "hello"})
	return channel(t, settings.Discord{API: srv.URL, Token: discordtest.Token}), srv
}

func channel(t *testing.T, s settings.Discord) *discord.Channel {
	t.Helper()
	ch, err := discord.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return ch.(*discord.Channel)
}

func deliver(t *testing.T, ch plugins.Channel, m plugins.Message) string {
	t.Helper()
	id, err := ch.Deliver(t.Context(), m)
	if err != nil {
		t.Fatalf("deliver: %v", err)
	}
	return id
}

func only(t *testing.T, srv *discordtest.Server, room string) discordtest.Message {
	t.Helper()
	all := srv.Messages(room)
	if len(all) != 1 {
		t.Fatalf("%d messages are shown in %s, want 1: %+v", len(all), room, all)
	}
	return all[0]
}

func TestDeliverTo(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		place plugins.Place
		room  string
	}{
		"a person": {plugins.Place{To: ana}, dm},
		"a room":   {plugins.Place{To: ana, Chat: room}, room},
		"a thread": {plugins.Place{To: ana, Chat: room, Thread: threads}, threads},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ch, srv := open(t)
			id := deliver(t, ch, plugins.Message{Key: "run.1", Place: tt.place, Text: "**hi** @everyone"})
			got := only(t, srv, tt.room)
			if got.Text != "**hi** @everyone" || id != "dc-"+got.ID || len(got.Nonce) != 24 {
				t.Errorf("%s shows %+v", id, got)
			}
			call := srv.Calls("POST messages")[0]
			want := map[string]any{"parse": []any{}, "replied_user": true}
			if diff := cmp.Diff(want, call.Body["allowed_mentions"]); diff != "" {
				t.Errorf("it may mention everyone: %s", diff)
			}
			if call.Body["enforce_nonce"] != true {
				t.Error("the nonce is not enforced")
			}
			if err := ch.Typing(t.Context(), tt.place); err != nil {
				t.Error(err)
			}
			if typing := srv.Calls("POST typing"); len(typing) != 1 || typing[0].Path != "/channels/"+tt.room+"/typing" {
				t.Errorf("typing is %+v", typing)
			}
		})
	}
}

func TestAMessageSentTwiceIsShownOnce(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	m := plugins.Message{Key: "run.1", Place: plugins.Place{To: ana}, Text: "once"}
	srv.Refuse("POST messages", discordtest.Refusal{Lost: true})
	if _, err := ch.Deliver(t.Context(), m); err == nil {
		t.Fatal("a lost answer is no error")
	}
	id := deliver(t, ch, m)
	if got := only(t, srv, dm); id != "dc-"+got.ID {
		t.Errorf("%s shows %+v", id, got)
	}
	m.Key = "run.2"
	deliver(t, ch, m)
	if n := len(srv.Messages(dm)); n != 2 {
		t.Errorf("with another key %d messages are shown", n)
	}
}

func TestDeliverAnswersAMessage(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	first := srv.Write(discordtest.Message{From: ana, Room: room, Text: "question"})
	tests := map[string]struct{ id, answers string }{
		"a message":        {"dc-" + first, first},
		"an edit":          {"dc-" + first + ".1700000000000", first},
		"one that is gone": {"dc-1", ""},
		"something else":   {"console-1", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			deliver(t, ch, plugins.Message{Key: name, Place: plugins.Place{Chat: room}, Text: "hi", ReplyTo: tt.id})
			all := srv.Messages(room)
			if got := all[len(all)-1]; got.ReplyTo != tt.answers {
				t.Errorf("it answers %q, want %q", got.ReplyTo, tt.answers)
			}
		})
	}
	t.Run("where the history may not be read", func(t *testing.T) {
		srv.Refuse("POST messages", discordtest.Refusal{Status: 403, Code: 160002, Message: "Cannot reply without permission to read message history"})
		deliver(t, ch, plugins.Message{Key: "k", Place: plugins.Place{Chat: room}, Text: "hi", ReplyTo: "dc-" + first})
	})
}

func TestDeliverButtons(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	var buttons []plugins.Button
	var want []discordtest.Button
	for _, label := range []string{"1", "2", "3", "4", "5", strings.Repeat("6", 100)} {
		buttons = append(buttons, plugins.Button{Label: label, Data: "d" + label[:1]})
		want = append(want, discordtest.Button{Label: label, ID: "d" + label[:1]})
	}
	want[5].Label = strings.Repeat("6", 79) + "…"
	deliver(t, ch, plugins.Message{Key: "k", Place: plugins.Place{To: ana}, Text: "which?", Buttons: buttons})
	if diff := cmp.Diff(want, only(t, srv, dm).Buttons); diff != "" {
		t.Error(diff)
	}
}

func TestDeliverFiles(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	deliver(t, ch, plugins.Message{Key: "1", Place: plugins.Place{To: ana}, File: &plugins.File{Name: "/etc/a.txt", MIME: "text/plain", Data: []byte("x")}})
	if got := only(t, srv, dm); got.File == nil || got.File.Name != "a.txt" || string(got.File.Data) != "x" || len(got.Nonce) != 24 {
		t.Errorf("it shows %+v", got)
	}
	deliver(t, ch, plugins.Message{Key: "2", Place: plugins.Place{Chat: room}, File: &plugins.File{URL: "https://files.test/a.png"}})
	if got := only(t, srv, room); got.Text != "https://files.test/a.png" {
		t.Errorf("it shows %+v", got)
	}
	deliver(t, ch, plugins.Message{Key: "3", Place: plugins.Place{Chat: threads}, File: &plugins.File{Data: []byte("x")}})
	if got := only(t, srv, threads); got.File.Name != "file" {
		t.Errorf("it shows %+v", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	rate := func(after time.Duration, account bool) func(error) bool {
		return func(err error) bool {
			var e *plugins.RateLimitError
			return errors.As(err, &e) && e.After == after && e.Account == account
		}
	}
	permanent := func(err error) bool { var e *plugins.PermanentError; return errors.As(err, &e) }
	login := func(err error) bool { var e *plugins.LoginError; return errors.As(err, &e) }
	plain := func(err error) bool { return err != nil && !permanent(err) && !login(err) && !rate(0, false)(err) }
	everywhere := discordtest.TooMany(2)
	everywhere.Global = true
	tests := map[string]struct {
		refusal discordtest.Refusal
		is      func(error) bool
	}{
		"too many":            {discordtest.TooMany(1.5), rate(1500*time.Millisecond, false)},
		"too many everywhere": {everywhere, rate(2*time.Second, true)},
		"no private messages": {discordtest.Refusal{Status: 403, Code: 50007, Message: "Cannot send messages to this user"}, permanent},
		"no right":            {discordtest.Refusal{Status: 403, Code: 50013, Message: "Missing Permissions"}, permanent},
		"no such room":        {discordtest.Refusal{Status: 404, Code: 10003, Message: "Unknown Channel"}, permanent},
		"too large":           {discordtest.Refusal{Status: 413, Code: 40005, Message: "Request entity too large"}, permanent},
		"the token is bad":    {discordtest.Refusal{Status: 401, Message: "401: Unauthorized"}, login},
		"words of a proxy":    {discordtest.Refusal{Status: 403}, plain},
		"a proxy finds none":  {discordtest.Refusal{Status: 404}, plain},
		"out of order":        {discordtest.Refusal{Status: 503}, plain},
		"no answer":           {discordtest.Refusal{Lost: true}, plain},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ch, srv := open(t)
			srv.Refuse("POST messages", tt.refusal)
			_, err := ch.Deliver(t.Context(), plugins.Message{Place: plugins.Place{To: ana}, Text: "hi"})
			if !tt.is(err) {
				t.Fatalf("the error is %T: %v", err, err)
			}
		})
	}
	for name, m := range map[string]plugins.Message{
		"an invalid person id":    {Place: plugins.Place{To: "ana"}, Text: "hi"},
		"no one":                  {Text: "hi"},
		"a file without content":  {Place: plugins.Place{To: ana}, File: &plugins.File{Name: "a"}},
		"a text that is too long": {Place: plugins.Place{To: ana}, Text: strings.Repeat("x", 2001)},
	} {
		t.Run(name, func(t *testing.T) {
			ch, _ := open(t)
			if _, err := ch.Deliver(t.Context(), m); !permanent(err) {
				t.Fatalf("the error is %v", err)
			}
		})
	}
}

// TestASpentBucketIsNotAskedAgain: the second message would be refused.
func TestASpentBucketIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	srv.Refuse("POST messages", discordtest.Refusal{Spent: 60})
	deliver(t, ch, plugins.Message{Key: "1", Place: plugins.Place{To: ana}, Text: "hi"})
	_, err := ch.Deliver(t.Context(), plugins.Message{Key: "2", Place: plugins.Place{To: ana}, Text: "hi"})
	var limit *plugins.RateLimitError
	if !errors.As(err, &limit) || limit.After < 50*time.Second || limit.Account {
		t.Fatalf("the error is %v", err)
	}
	if n := len(srv.Calls("POST messages")); n != 1 {
		t.Errorf("%d calls", n)
	}
	deliver(t, ch, plugins.Message{Key: "3", Place: plugins.Place{Chat: room}, Text: "in another room"})
}

func TestPreviewBecomesTheReply(t *testing.T) {
	t.Parallel()
	for name, to := range map[string]plugins.Place{"private": {To: ana}, "room": {Chat: room}} {
		t.Run(name, func(t *testing.T) {
			ch, srv := open(t)
			at := dm
			if to.Chat != "" {
				at = room
			}
			id, err := ch.Preview(t.Context(), to, "", "so")
			if err != nil {
				t.Fatal(err)
			}
			if id, err = ch.Preview(t.Context(), to, id, "so far"); err != nil {
				t.Fatal(err)
			}
			if got := only(t, srv, at).Text; got != "so far" {
				t.Errorf("the preview is %q", got)
			}
			sent := deliver(t, ch, plugins.Message{Key: "k", Place: to, Text: "so far, so good", Preview: id, Buttons: []plugins.Button{{Label: "Yes", Data: "1"}}})
			if got := only(t, srv, at); got.Text != "so far, so good" || sent != id || len(got.Buttons) != 1 {
				t.Errorf("it shows %+v", got)
			}
		})
	}
	t.Run("which was deleted", func(t *testing.T) {
		ch, srv := open(t)
		deliver(t, ch, plugins.Message{Key: "k", Place: plugins.Place{To: ana}, Text: "good", Preview: "dc-123"})
		if got := only(t, srv, dm); got.Text != "good" {
			t.Errorf("it shows %+v", got)
		}
	})
	t.Run("by a file", func(t *testing.T) {
		ch, srv := open(t)
		id, err := ch.Preview(t.Context(), plugins.Place{To: ana}, "", "so")
		if err != nil {
			t.Fatal(err)
		}
		deliver(t, ch, plugins.Message{Key: "k", Place: plugins.Place{To: ana}, File: &plugins.File{Name: "a", Data: []byte("x")}, Preview: id})
		if got := only(t, srv, dm); got.File == nil {
			t.Errorf("it shows %+v", got)
		}
	})
}

func TestCheck(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	if as, err := ch.Check(t.Context()); err != nil || as != discordtest.BotName {
		t.Fatalf("it is %q: %v", as, err)
	}
	_, err := channel(t, settings.Discord{API: srv.URL, Token: "wrong"}).Check(t.Context())
	var login *plugins.LoginError
	if !errors.As(err, &login) || !strings.Contains(err.Error(), "Reset Token") || strings.Contains(err.Error(), "wrong") {
		t.Fatalf("the error is %v", err)
	}
	for _, token := range []string{"", "Bot ", "a b"} {
		if _, err := discord.New(settings.Discord{Token: token}); err == nil {
			t.Errorf("token %q: no error", token)
		}
	}
}

func TestRender(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ markdown, want string }{
		"text":      {"a_b * c <@12> @everyone", `a\_b \* c \<@12> @everyone`},
		"emphasis":  {"**b** *i* ~~s~~ `c_d`", "**b** *i* ~~s~~ `c_d`"},
		"a heading": {"#### Title", "### Title"},
		"code":      {"```go\na < b\n```", "```go\na < b\n```"},
		"backticks in code": {
			"```js\nx = `a ${b}`\n```\n`` a`b `` and `` `c` `` and ``` a``b ```",
			"```js\nx = `a ${b}`\n```\n\n``a`b`` and `` `c` `` and `aˋˋb`",
		},
		"a fence in code": {"````md\n```go\nx\n```\n````", "```md\n`\u200b`\u200b`go\nx\n`\u200b`\u200b`\n```"},
		"a link":          {"[shop](https://shop.test/a_b)", "[shop](https://shop.test/a_b)"},
		"an address":      {"<https://shop.test/a_b>", "https://shop.test/a_b"},
		"a list":          {"- one\n- two", "- one\n- two"},
		"a quote":         {"> said", "> said"},
		"no list":         {`\- one`, `\- one`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ch, _ := open(t)
			if got := ch.Limits().Render(tt.markdown); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}
