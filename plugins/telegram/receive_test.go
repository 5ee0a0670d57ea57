package telegram_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus"
	"agenthost/plugins"
	"agenthost/plugins/internal/inboxtest"
	"agenthost/plugins/settings"
	"agenthost/plugins/telegram/telegramtest"
)

// polled is a bot that is polled, and what it has taken.
func polled(t *testing.T) (*inboxtest.Host, *telegramtest.Server) {
	t.Helper()
	srv := telegramtest.New(t)
	host := inboxtest.New(t)
	host.Start(channel(t, settings.Telegram{API: srv.URL, Token: telegramtest.Token}), settings.Account{Groups: settings.GroupsAll}, plugins.StateConnected)
	return host, srv
}

// said is what the tests look at of an envelope.
func said(in bus.Inbound) bus.Inbound {
	in.SentAt, in.Media = "", nil
	return in
}

func TestReceive(t *testing.T) {
	t.Parallel()
	const at = "@" + telegramtest.Username
	shop := map[string]any{"chat_title": "Shop"}
	tests := map[string]struct {
		message telegramtest.Message
		want    bus.Inbound
	}{
		"a private message": {
			telegramtest.Message{From: ana, Name: "Ana", Text: "hello"},
			bus.Inbound{ID: "tg-7-2", From: "7", Name: "Ana", Text: "hello"},
		},
		"a message in a group": {
			telegramtest.Message{From: ana, Name: "Ana", Chat: group, Title: "Shop", Text: "hello"},
			bus.Inbound{ID: "tg--55-2", From: "7", Name: "Ana", Chat: "-55", Group: true, Text: "hello", Meta: shop},
		},
		"a message in a topic": {
			telegramtest.Message{From: ana, Name: "Ana", Chat: forum, Thread: 12, Title: "Shop", Text: "hello"},
			bus.Inbound{ID: "tg--1009-2", From: "7", Name: "Ana", Chat: "-1009", Group: true, Thread: "12", Text: "hello", Meta: shop},
		},
		"an answer": {
			telegramtest.Message{From: ana, Name: "Ana", Text: "hello", ReplyTo: 1},
			bus.Inbound{ID: "tg-7-2", From: "7", Name: "Ana", Text: "hello", ReplyTo: "tg-7-1"},
		},
		"a mention": {
			telegramtest.Message{From: ana, Name: "Ana", Text: at + ", hello 😀 " + at + " there"},
			bus.Inbound{ID: "tg-7-2", From: "7", Name: "Ana", Text: "hello 😀 there"},
		},
		"a command": {
			telegramtest.Message{From: ana, Name: "Ana", Text: "/stop" + at + " now"},
			bus.Inbound{ID: "tg-7-2", From: "7", Name: "Ana", Text: "/stop now"},
		},
		"the mention of another": {
			telegramtest.Message{From: ana, Name: "Ana", Text: "@other_bot hello"},
			bus.Inbound{ID: "tg-7-2", From: "7", Name: "Ana", Text: "@other_bot hello"},
		},
		"a caption": {
			telegramtest.Message{From: ana, Name: "Ana", Text: at + " look", File: &telegramtest.File{Kind: "photo", Data: []byte("x")}},
			bus.Inbound{ID: "tg-7-2", From: "7", Name: "Ana", Text: "look"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			host, srv := polled(t)
			srv.Write(telegramtest.Message{From: ana, Name: "Ana", Text: "first"})
			host.Next()
			srv.Write(tt.message)
			if diff := cmp.Diff(tt.want, said(host.Next())); diff != "" {
				t.Error(diff)
			}
			srv.Wait(t, "the acknowledgement", func() bool { return srv.Waiting() == 0 })
		})
	}
}

func TestReceiveInTheNameOfAGroup(t *testing.T) {
	t.Parallel()
	host, srv := polled(t)
	shop := map[string]any{"id": group, "type": "group", "title": "Shop"}
	srv.Update("message", map[string]any{
		"message_id": 5, "date": 1700000000, "text": "hi", "chat": shop, "sender_chat": shop,
		"from": map[string]any{"id": 1087968824, "is_bot": true, "first_name": "Group"},
	})
	if in := host.Next(); in.From != "-55" || in.Name != "Shop" {
		t.Errorf("it is from %s, %s", in.From, in.Name)
	}
}

func TestReceiveAnEdit(t *testing.T) {
	t.Parallel()
	host, srv := polled(t)
	id := srv.Write(telegramtest.Message{From: ana, Text: "helo"})
	first := host.Next()
	srv.Edit(id, "hello")
	second := host.Next()
	if second.Edits != first.ID || second.ID == first.ID || second.Text != "hello" {
		t.Errorf("the edit is %+v", second)
	}
	srv.Edit(id, "hello!")
	if third := host.Next(); third.Edits != first.ID || third.ID == second.ID {
		t.Errorf("the second edit is %+v", third)
	}
}

// A place that is shared live is edited every few seconds: none of that is an edit of a text.
func TestReceiveALivePlaceOnce(t *testing.T) {
	t.Parallel()
	host, srv := polled(t)
	place := func(latitude float64) map[string]any {
		return map[string]any{
			"message_id": 5, "date": 1700000000, "from": map[string]any{"id": ana, "first_name": "Ana"}, "chat": map[string]any{"id": ana, "type": "private"},
			"location": map[string]any{"latitude": latitude, "longitude": 13.25, "live_period": 900},
		}
	}
	srv.Update("message", place(52.5))
	srv.Update("edited_message", place(52.75))
	srv.Write(telegramtest.Message{From: ana, Text: "next"})
	if got := host.Next().Text; got != "Location: 52.5, 13.25" {
		t.Errorf("the text is %q", got)
	}
	if got := host.Next(); got.Text != "next" {
		t.Errorf("next comes %+v", got)
	}
}

func TestReceiveFiles(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file telegramtest.File
		want bus.Media
	}{
		"a photo, the largest": {telegramtest.File{Kind: "photo", Data: []byte("high")}, bus.Media{Kind: "image", MIME: "image/jpeg", Name: "photo.jpg", Size: 4}},
		"a document":           {telegramtest.File{Kind: "document", Name: "a.pdf", MIME: "application/pdf", Data: []byte("pdf")}, bus.Media{Kind: "file", MIME: "application/pdf", Name: "a.pdf", Size: 3}},
		"a picture as one":     {telegramtest.File{Kind: "document", Name: "a.png", MIME: "image/png", Data: []byte("png")}, bus.Media{Kind: "image", MIME: "image/png", Name: "a.png", Size: 3}},
		"a voice":              {telegramtest.File{Kind: "voice", MIME: "audio/ogg", Data: []byte("ogg")}, bus.Media{Kind: "audio", MIME: "audio/ogg", Name: "voice.ogg", Size: 3}},
		"music":                {telegramtest.File{Kind: "audio", Name: "a.mp3", MIME: "audio/mpeg", Data: []byte("mp3")}, bus.Media{Kind: "audio", MIME: "audio/mpeg", Name: "a.mp3", Size: 3}},
		"a film":               {telegramtest.File{Kind: "video", Name: "a.mp4", MIME: "video/mp4", Data: []byte("mp4")}, bus.Media{Kind: "video", MIME: "video/mp4", Name: "a.mp4", Size: 3}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			host, srv := polled(t)
			srv.Write(telegramtest.Message{From: ana, Text: "look", File: &tt.file})
			in := host.Next()
			if len(in.Media) != 1 || in.Text != "look" {
				t.Fatalf("it is %+v", in)
			}
			if got := host.File(in.Media[0]); got != string(tt.file.Data) {
				t.Errorf("the file is %q", got)
			}
			in.Media[0].Object = ""
			if diff := cmp.Diff(tt.want, in.Media[0]); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestReceiveAPress(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		place plugins.Place
		chat  int64
	}{
		"in private": {plugins.Place{To: "7"}, ana},
		"in a group": {plugins.Place{To: "7", Chat: "-55"}, group},
		"in a topic": {plugins.Place{To: "7", Chat: "-1009", Thread: "12"}, forum},
	} {
		t.Run(name, func(t *testing.T) {
			srv := telegramtest.New(t)
			host := inboxtest.New(t)
			ch := channel(t, settings.Telegram{API: srv.URL, Token: telegramtest.Token})
			host.Start(ch, settings.Account{}, plugins.StateConnected)
			srv.Write(telegramtest.Message{From: ana, Chat: tt.chat, Text: "@" + telegramtest.Username + " hello"})
			host.Next()
			deliver(t, ch, plugins.Message{Place: tt.place, Text: "sure?", Buttons: []plugins.Button{{Label: "approve", Data: "a.ana.x.y"}}})
			asked := only(t, srv, tt.chat)
			press := srv.Press(ana, "Ana", asked.ID, "a.ana.x.y")
			got := host.Next()
			got.SentAt, got.Meta = "", nil
			want := bus.Inbound{
				ID: "tg-cb-" + press, From: "7", Name: "Ana", Text: "approve", Answers: "ana.x.y", ReplyTo: messageID(asked),
				Chat: tt.place.Chat, Group: tt.place.Chat != "", Thread: tt.place.Thread,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			left := 0
			if tt.chat < 0 { // another person may have to decide
				left = 1
			}
			srv.Wait(t, "the end of the press", func() bool {
				return len(srv.Calls("answerCallbackQuery")) == 1 && srv.Waiting() == 0
			})
			if got := only(t, srv, tt.chat).Buttons; len(got) != left {
				t.Errorf("%d buttons are left, want %d", len(got), left)
			}
		})
	}
}

func TestGroupsTakeWhatIsForTheBot(t *testing.T) {
	t.Parallel()
	srv := telegramtest.New(t)
	host := inboxtest.New(t)
	ch := channel(t, settings.Telegram{API: srv.URL, Token: telegramtest.Token})
	host.Start(ch, settings.Account{}, plugins.StateConnected)
	in := func(text string, replyTo int64) {
		srv.Write(telegramtest.Message{From: ana, Chat: group, Text: text, ReplyTo: replyTo})
	}
	in("among us", 0)
	in("@"+telegramtest.Username+" one", 0)
	if got := host.Next().Text; got != "one" {
		t.Errorf("first comes %q", got)
	}
	deliver(t, ch, plugins.Message{Place: plugins.Place{Chat: "-55"}, Text: "yes?"})
	in("/help", 0)
	in("two", only(t, srv, group).ID)
	if got := host.Next().Text; got != "two" {
		t.Errorf("then comes %q", got)
	}
	in("@"+telegramtest.Username, 0)
	if got := host.Next().Text; got != "@"+telegramtest.Username {
		t.Errorf("at last comes %q", got)
	}
}

func TestAGroupThatBecomesASupergroupKeepsItsName(t *testing.T) {
	t.Parallel()
	host, srv := polled(t)
	srv.Write(telegramtest.Message{From: ana, Chat: group, Title: "Shop", Text: "one"})
	host.Next()
	srv.Migrate(group, -10055)
	srv.Write(telegramtest.Message{From: ana, Chat: -10055, Text: "two"})
	if in := host.Next(); in.Chat != "-55" || in.ID != "tg--10055-4" {
		t.Errorf("it is %+v", in)
	}
	// A host that comes later knows it as well, and answers there.
	later := channel(t, settings.Telegram{API: srv.URL, Token: telegramtest.Token})
	deliver(t, later, plugins.Message{Place: plugins.Place{Chat: "-55"}, Text: "hi"})
	if got := only(t, srv, -10055); got.Text != "hi" {
		t.Errorf("it shows %+v", got)
	}
}
