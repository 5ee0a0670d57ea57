package telegram_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/plugins"
	"agenthost/plugins/settings"
	"agenthost/plugins/telegram"
	"agenthost/plugins/telegram/telegramtest"
)

const (
	ana   = 7
	group = -55
	forum = -1009
)

// open is a channel on a server to which Ana has written, in private and in groups.
func open(t *testing.T) (*telegram.Channel, *telegramtest.Server) {
	t.Helper()
	srv := telegramtest.New(t)
	srv.Write(telegramtest.Message{From: ana, Name: "Ana", Text: "hello"})
	srv.Write(telegramtest.Message{From: ana, Name: "Ana", Chat: group, Title: "Shop", Text: "hello"})
	srv.Write(telegramtest.Message{From: ana, Name: "Ana", Chat: forum, Title: "Forum", Text: "hello"})
	return channel(t, settings.Telegram{API: srv.URL, Token: telegramtest.Token}), srv
}

func channel(t *testing.T, s settings.Telegram) *telegram.Channel {
	t.Helper()
	ch, err := telegram.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return ch.(*telegram.Channel)
}

func deliver(t *testing.T, ch plugins.Channel, m plugins.Message) string {
	t.Helper()
	id, err := ch.Deliver(t.Context(), m)
	if err != nil {
		t.Fatalf("deliver: %v", err)
	}
	return id
}

func only(t *testing.T, srv *telegramtest.Server, chat int64) telegramtest.Message {
	t.Helper()
	all := srv.Messages(chat)
	if len(all) != 1 {
		t.Fatalf("%d messages are shown in %d, want 1: %+v", len(all), chat, all)
	}
	return all[0]
}

func TestDeliverTo(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		place  plugins.Place
		chat   int64
		thread int64
	}{
		"a person": {plugins.Place{To: "7"}, ana, 0},
		"a group":  {plugins.Place{To: "7", Chat: "-55"}, group, 0},
		"a topic":  {plugins.Place{To: "7", Chat: "-1009", Thread: "12"}, forum, 12},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ch, srv := open(t)
			id := deliver(t, ch, plugins.Message{Place: tt.place, Text: "<b>hi</b> &amp; bye", Plain: "hi & bye"})
			got := only(t, srv, tt.chat)
			if got.Text != "hi & bye" || got.HTML != "<b>hi</b> &amp; bye" || got.Thread != tt.thread {
				t.Errorf("it shows %+v", got)
			}
			if !strings.HasPrefix(id, "tg-") {
				t.Errorf("its id is %q", id)
			}
			if err := ch.Typing(t.Context(), tt.place); err != nil {
				t.Error(err)
			}
			typing := srv.Calls("sendChatAction")
			if len(typing) != 1 || typing[0].Number("chat_id") != tt.chat || typing[0].Number("message_thread_id") != tt.thread || typing[0].Text("action") != "typing" {
				t.Errorf("typing is %+v", typing)
			}
		})
	}
}

func TestDeliverAnswersAMessage(t *testing.T) {
	t.Parallel()
	inGroup, private := plugins.Place{To: "7", Chat: "-55"}, plugins.Place{To: "7"}
	tests := map[string]struct {
		place   plugins.Place
		id      string
		answers int64
	}{
		"a message":              {inGroup, "tg--55-2", 2},
		"an edit":                {inGroup, "tg--55-2.55", 2},
		"one that is gone":       {inGroup, "tg--55-99", 0},
		"one of another chat":    {inGroup, "tg-7-1", 0},
		"something else":         {inGroup, "console-1", 0},
		"in a private chat none": {private, "tg-7-1", 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ch, srv := open(t)
			deliver(t, ch, plugins.Message{Place: tt.place, Text: "hi", ReplyTo: tt.id})
			chat := int64(ana)
			if tt.place.Chat != "" {
				chat = group
			}
			if got := only(t, srv, chat); got.ReplyTo != tt.answers {
				t.Errorf("it answers %d, want %d", got.ReplyTo, tt.answers)
			}
		})
	}
}

func TestDeliverPlainWhereTheMarkupIsNotUnderstood(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	deliver(t, ch, plugins.Message{Place: plugins.Place{To: "7"}, Text: "<b>a < b</b>", Plain: "a < b"})
	if got := only(t, srv, ana); got.Text != "a < b" || got.HTML != "a < b" {
		t.Errorf("it shows %+v", got)
	}
}

func TestDeliverButtons(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	deliver(t, ch, plugins.Message{Place: plugins.Place{To: "7"}, Text: "sure?", Buttons: []plugins.Button{{Label: "Yes", Data: "c1.1"}, {Label: "No", Data: "c1.2"}}})
	want := []telegramtest.Button{{Text: "Yes", Data: "c1.1"}, {Text: "No", Data: "c1.2"}}
	if diff := cmp.Diff(want, only(t, srv, ana).Buttons); diff != "" {
		t.Error(diff)
	}
}

func TestDeliverFiles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file         plugins.File
		method, name string
	}{
		"a picture":            {plugins.File{Name: "a.png", MIME: "image/png", Kind: "image", Data: []byte("x")}, "sendPhoto", "a.png"},
		"a large picture":      {plugins.File{Name: "a.png", MIME: "image/png", Kind: "image", Data: make([]byte, 11<<20)}, "sendDocument", "a.png"},
		"a moving picture":     {plugins.File{Name: "a.gif", MIME: "image/gif", Kind: "image", Data: []byte("x")}, "sendAnimation", "a.gif"},
		"a voice":              {plugins.File{Name: "a.ogg", MIME: "audio/ogg", Kind: "audio", Data: []byte("x")}, "sendVoice", "a.ogg"},
		"music":                {plugins.File{Name: "a.mp3", MIME: "audio/mpeg", Kind: "audio", Data: []byte("x")}, "sendAudio", "a.mp3"},
		"a film":               {plugins.File{Name: "a.mp4", MIME: "video/mp4", Kind: "video", Data: []byte("x")}, "sendVideo", "a.mp4"},
		"a text":               {plugins.File{Name: "/etc/a.txt", MIME: "text/plain", Kind: "file", Data: []byte("x")}, "sendDocument", "a.txt"},
		"one without a name":   {plugins.File{Kind: "file", Data: []byte("x")}, "sendDocument", "file"},
		"one that is a link":   {plugins.File{MIME: "image/png", URL: "https://files.test/a.png"}, "sendPhoto", "https://files.test/a.png"},
		"a sheet from a table": {plugins.File{Name: "a.csv", MIME: "text/csv", Data: []byte("1,2")}, "sendDocument", "a.csv"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ch, srv := open(t)
			deliver(t, ch, plugins.Message{Place: plugins.Place{To: "7"}, File: &tt.file})
			got := only(t, srv, ana)
			if got.File.Name != tt.name || string(got.File.Data) != string(tt.file.Data) || len(srv.Calls(tt.method)) != 1 {
				t.Errorf("it shows %q with %d bytes, by %d calls of %s", got.File.Name, len(got.File.Data), len(srv.Calls(tt.method)), tt.method)
			}
		})
	}
}

func TestDeliverAFileAsDocumentWhereItIsNotTakenOtherwise(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	srv.Refuse("sendVoice", telegramtest.Refusal{Code: http.StatusBadRequest, Description: "Bad Request: VOICE_MESSAGES_FORBIDDEN"})
	deliver(t, ch, plugins.Message{Place: plugins.Place{To: "7"}, Text: "listen", File: &plugins.File{Name: "a.ogg", MIME: "audio/ogg", Data: []byte("x")}})
	if got := only(t, srv, ana); got.Text != "listen" || got.File.Kind != "document" {
		t.Errorf("it shows %+v", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	rate := func(after time.Duration) func(error) bool {
		return func(err error) bool {
			var e *plugins.RateLimitError
			return errors.As(err, &e) && e.After == after && !e.Account
		}
	}
	permanent := func(err error) bool { var e *plugins.PermanentError; return errors.As(err, &e) }
	login := func(err error) bool { var e *plugins.LoginError; return errors.As(err, &e) }
	plain := func(err error) bool { return err != nil && !permanent(err) && !login(err) && !rate(0)(err) }
	tests := map[string]struct {
		refusal telegramtest.Refusal
		is      func(error) bool
	}{
		"too many":         {telegramtest.TooMany(9), rate(9 * time.Second)},
		"blocked":          {telegramtest.Refusal{Code: 403, Description: "Forbidden: bot was blocked by the user"}, permanent},
		"no such chat":     {telegramtest.Refusal{Code: 400, Description: "Bad Request: chat not found"}, permanent},
		"too large":        {telegramtest.Refusal{Code: 413, Description: "Request Entity Too Large"}, permanent},
		"the token is bad": {telegramtest.Refusal{Code: 401, Description: "Unauthorized"}, login},
		"out of order":     {telegramtest.Refusal{Code: 502, Description: "Bad Gateway"}, plain},
		"no answer":        {telegramtest.Refusal{Lost: true}, plain},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			ch, srv := open(t)
			srv.Refuse("sendMessage", tt.refusal)
			_, err := ch.Deliver(t.Context(), plugins.Message{Place: plugins.Place{To: "7"}, Text: "hi"})
			if !tt.is(err) {
				t.Fatalf("the error is %T: %v", err, err)
			}
			noToken(t, err)
		})
	}
	t.Run("an invalid chat id", func(t *testing.T) {
		ch, _ := open(t)
		if _, err := ch.Deliver(t.Context(), plugins.Message{Place: plugins.Place{To: "ana"}, Text: "hi"}); !permanent(err) {
			t.Fatalf("the error is %v", err)
		}
	})
	t.Run("a file without content", func(t *testing.T) {
		ch, _ := open(t)
		if _, err := ch.Deliver(t.Context(), plugins.Message{Place: plugins.Place{To: "7"}, File: &plugins.File{Name: "a"}}); !permanent(err) {
			t.Fatalf("the error is %v", err)
		}
	})
}

func noToken(t *testing.T, err error) {
	t.Helper()
	if strings.Contains(err.Error(), "telegramtest-token") {
		t.Errorf("the error holds the token: %v", err)
	}
}

func TestErrorsOfTheNetworkHoldNoToken(t *testing.T) {
	t.Parallel()
	for name, address := range map[string]string{"refused": "http://127.0.0.1:1", "no address": "http://[::1", "no host": "http://nowhere.invalid"} {
		t.Run(name, func(t *testing.T) {
			ch := channel(t, settings.Telegram{API: address, Token: telegramtest.Token})
			_, err := ch.Check(t.Context())
			if err == nil {
				t.Fatal("no error")
			}
			noToken(t, err)
		})
	}
}

func TestDeliverFollowsAGroupThatIsASupergroupNow(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	srv.Migrate(group, -10055)
	for range 2 {
		deliver(t, ch, plugins.Message{Place: plugins.Place{To: "7", Chat: "-55"}, Text: "hi"})
	}
	if got := srv.Messages(-10055); len(got) != 2 {
		t.Fatalf("the supergroup shows %d messages", len(got))
	}
	if calls := srv.Calls("sendMessage"); len(calls) != 3 {
		t.Errorf("%d calls: the new id was not kept", len(calls))
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	ch, srv := open(t)
	if as, err := ch.Check(t.Context()); err != nil || as != "@"+telegramtest.Username {
		t.Fatalf("it is %q: %v", as, err)
	}
	for name, token := range map[string]string{"a wrong token": "1:wrong", "no longer valid": "4200:old"} {
		t.Run(name, func(t *testing.T) {
			_, err := channel(t, settings.Telegram{API: srv.URL, Token: token}).Check(t.Context())
			var login *plugins.LoginError
			if !errors.As(err, &login) || !strings.Contains(err.Error(), "BotFather") {
				t.Fatalf("the error is %v", err)
			}
		})
	}
	t.Run("no Bot API", func(t *testing.T) {
		_, err := channel(t, settings.Telegram{API: srv.URL + "/elsewhere", Token: telegramtest.Token}).Check(t.Context())
		if err == nil {
			t.Fatal("no error")
		}
	})
}

func TestNewWantsAToken(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "4200", "4200:", ":x", "4200:a/b", "4200:a b"} {
		if _, err := telegram.New(settings.Telegram{Token: token}); err == nil || !strings.Contains(err.Error(), "BotFather") {
			t.Errorf("%q: the error is %v", token, err)
		}
	}
}

func TestDeliverEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ch, _ := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := ch.Deliver(ctx, plugins.Message{Place: plugins.Place{To: "7"}, Text: "hi"})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v", err)
	}
	noToken(t, err)
}

// messageID is how the channel names a message.
func messageID(m telegramtest.Message) string { return fmt.Sprintf("tg-%d-%d", m.Chat, m.ID) }
