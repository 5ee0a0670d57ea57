package slack_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"
	"agenthost/plugins/slack"
	"agenthost/plugins/slack/slacktest"

	"github.com/google/go-cmp/cmp"
)

// work is a workspace with an app on a host.
type work struct {
	*slacktest.Server
	host *plugintest.Host
}

func newWork(t *testing.T) *work {
	w := &work{Server: slacktest.New(t)}
	w.AddUser("U1", "Ana")
	w.AddUser("U2", "Ben")
	return w
}

func (w *work) start(t *testing.T, account settings.Account) plugins.Channel {
	t.Helper()
	ch := newChannel(t, w.Server)
	w.host = plugintest.NewHost(t, ch, account)
	return ch
}

func texts(in []bus.Inbound) []string {
	var all []string
	for _, m := range in {
		all = append(all, m.Text)
	}
	return all
}

func TestDirectChannelAndThread(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.start(t, settings.Account{Groups: settings.GroupsAll})
	w.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "alone"})
	root := w.Say(slacktest.Message{Channel: "C1", User: "U1", Text: "among us"})
	w.Say(slacktest.Message{Channel: "C1", User: "U2", Text: "in the thread", Thread: root})
	w.Say(slacktest.Message{Channel: "G1", User: "U2", Text: "few of us"})
	var got []bus.Inbound
	for _, m := range w.host.Inbound(4) {
		if m.SentAt == "" || !strings.HasPrefix(m.ID, m.Chat+":") {
			t.Errorf("time or id of %+v", m)
		}
		got = append(got, bus.Inbound{From: m.From, Name: m.Name, Chat: m.Chat, Group: m.Group, Thread: m.Thread, Text: m.Text})
	}
	want := []bus.Inbound{
		{From: "U1", Name: "Ana", Chat: "D1", Text: "alone"},
		{From: "U1", Name: "Ana", Chat: "C1", Group: true, Text: "among us"},
		{From: "U2", Name: "Ben", Chat: "C1", Group: true, Thread: root, Text: "in the thread"},
		{From: "U2", Name: "Ben", Chat: "G1", Group: true, Text: "few of us"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	waittest.Until(t, "all events are acknowledged", func() bool { return w.Unacknowledged() == 0 })
}

func TestMention(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.start(t, settings.Account{})
	w.Say(slacktest.Message{Channel: "C1", User: "U1", Text: "to all"})
	w.Say(slacktest.Message{Channel: "C1", User: "U1", Text: "<@UBOT> to you, <@U2> and <@U9>"}) // comes twice
	w.host.Send(bus.Outbound{To: "U1", Chat: "C1", Text: "mine"})
	waittest.Until(t, "a message of the app", func() bool { return len(w.Messages("C1")) == 1 })
	w.Say(slacktest.Message{Channel: "C1", User: "U2", Text: "in your thread", Thread: w.Messages("C1")[0].Time})
	got := texts(w.host.Inbound(2))
	if want := []string{"to you, @Ben and @U9", "in your thread"}; !cmp.Equal(got, want) {
		t.Errorf("the agent got %q, want %q", got, want)
	}
}

// An answer or an order stands alone, so the mention by which it is for the app is no part of it.
func TestMentionIsTakenOut(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"<@UBOT> approve":                 "approve",
		"<@UBOT>\u00a0/stop":              "/stop",
		"<@UBOT|bot>: blue":               "blue",
		"<@UBOT>, 2: red":                 "2: red",
		"approve <@UBOT>":                 "approve",
		"approve, <@UBOT>!":               "approve!",
		"<@UBOT> ask <@UBOT> please":      "ask @bot please",
		"is it <@UBOT> or <@U2>":          "is it @bot or @Ben",
		"who is <@UBOT>?":                 "who is @bot?",
		"<@UBOT>":                         "@bot",
		"<@UBOT>!":                        "@bot!",
		"<@UBOT2> approve, then <@UBOT> ": "@UBOT2 approve, then",
	}
	w := newWork(t)
	w.start(t, settings.Account{})
	for n, text := range slices.Sorted(maps.Keys(tests)) {
		w.Say(slacktest.Message{Channel: "C1", User: "U1", Text: text})
		if got := w.host.Inbound(n + 1)[n].Text; got != tests[text] {
			t.Errorf("%q: the agent got %q, want %q", text, got, tests[text])
		}
	}
}

func TestWhatIsNoMessage(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.start(t, settings.Account{Groups: settings.GroupsAll})
	for _, event := range []map[string]any{
		{"type": "message", "user": "UBOT", "channel": "C1", "text": "my own", "ts": "1.1"},
		{"type": "message", "user": "U3", "bot_id": "B2", "channel": "C1", "text": "of a bot", "ts": "1.2"},
		{"type": "message", "subtype": "bot_message", "bot_id": "B2", "channel": "C1", "text": "of a bot", "ts": "1.3"},
		{"type": "message", "subtype": "channel_join", "user": "U1", "channel": "C1", "text": "joins", "ts": "1.4"},
		{"type": "message", "subtype": "message_deleted", "hidden": true, "channel": "C1", "ts": "1.5"},
		{
			"type": "message", "subtype": "message_changed", "channel": "C1", "ts": "1.6",
			"message":          map[string]any{"user": "U1", "text": "https://x.test", "ts": "1.0"},
			"previous_message": map[string]any{"user": "U1", "text": "https://x.test", "ts": "1.0"},
		},
		{"type": "message", "user": "U1", "channel": "C1", "text": "", "ts": "1.7"},
		{"type": "reaction_added", "user": "U1"},
		{"type": "message", "user": nil, "channel": nil, "text": nil, "ts": nil},
		{"type": "message", "subtype": "message_changed", "channel": "C1", "ts": "1.8", "message": nil},
		{"type": "message", "user": "U1", "channel": "C1", "text": 1e300, "ts": "1.9"},
	} {
		w.Event(event)
	}
	w.Envelope("slash_commands", map[string]any{"command": "/x"})
	w.Envelope("events_api", "broken")
	w.Envelope("events_api", nil)
	w.Envelope("interactive", nil)
	w.Envelope("hello", nil)
	w.Envelope("interactive", map[string]any{"type": "view_submission"})
	w.Say(slacktest.Message{Channel: "C1", User: "U1", Text: "a message"})
	if got := texts(w.host.Inbound(1)); !cmp.Equal(got, []string{"a message"}) {
		t.Errorf("the agent got %q", got)
	}
	waittest.Until(t, "all envelopes are acknowledged", func() bool { return w.Unacknowledged() == 0 })
}

func TestEdit(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.start(t, settings.Account{})
	root := w.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "frist", Thread: "1.0"})
	w.Edit("D1", root, "first")
	in := w.host.Inbound(2)
	if in[1].Text != "first" || in[1].Edits != in[0].ID || in[1].ID == in[0].ID || in[1].Thread != "1.0" {
		t.Errorf("the agent got %+v", in)
	}
}

// What Slack has not got the acknowledgement of comes again, and is one message.
func TestSentAgain(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.start(t, settings.Account{})
	w.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "one"})
	w.host.Inbound(1)
	w.Repeat()
	w.Disconnect()
	w.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "two"})
	if got := texts(w.host.Inbound(2)); !cmp.Equal(got, []string{"one", "two"}) {
		t.Errorf("the agent got %q", got)
	}
}

func TestRefresh(t *testing.T) {
	t.Parallel()
	for _, reason := range []string{"warning", "refresh_requested"} {
		t.Run(reason, func(t *testing.T) {
			w := newWork(t)
			w.start(t, settings.Account{})
			w.Refresh(reason)
			waittest.Until(t, "the app connects again", func() bool { return w.Connections() == 2 })
			w.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "over the new one"})
			w.host.Inbound(1)
			if s := w.host.Courier.Status(); s.LastError != "" {
				t.Errorf("a renewed socket is an error: %s", s.LastError)
			}
		})
	}
}

// Names that Slack does not say hold up no message for long, and none twice.
func TestNamesThatHang(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.start(t, settings.Account{})
	w.HangNext(1000, "users.info")
	for _, user := range []string{"U1", "U2", "U3", "U4"} {
		w.Say(slacktest.Message{Channel: "D1", User: user, Text: "hello <@U5>"})
	}
	for _, in := range w.host.Inbound(4) {
		if in.Name != "" || !strings.Contains(in.Text, "hello") {
			t.Errorf("the agent got %+v", in)
		}
	}
}

// A Slack that renews each socket at once, as when an app has too many, is not asked again and
// again without a pause.
func TestRefreshForEver(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.start(t, settings.Account{})
	w.RefreshAll("too_many_websockets")
	w.Refresh("too_many_websockets")
	waittest.Until(t, "the account pauses", func() bool {
		s := w.host.Courier.Status()
		return s.State == plugins.StateRetrying && strings.Contains(s.LastError, "too_many_websockets")
	})
	w.RefreshAll("")
	waittest.Until(t, "the account is connected", func() bool {
		s := w.host.Courier.Status()
		return s.State == plugins.StateConnected && s.LastError == ""
	})
	w.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "hello"})
	w.host.Inbound(1)
}

func TestLoginThatEnds(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		end  func(w *work)
		want string
	}{
		"socket mode is turned off": {func(w *work) { w.Refresh("link_disabled") }, "socket mode"},
		"the tokens are revoked":    {func(w *work) { w.Revoke(); w.Disconnect() }, "invalid_auth"},
		"the app was removed": {func(w *work) {
			w.FailNext(1, "auth.test", "account_inactive")
			w.Disconnect()
		}, "install the app again"},
		"no scope for sockets": {func(w *work) {
			w.FailNext(1, "apps.connections.open", "missing_scope")
			w.Disconnect()
		}, "missing_scope"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWork(t)
			w.start(t, settings.Account{})
			tt.end(w)
			waittest.Until(t, "the account is refused", func() bool {
				s := w.host.Courier.Status()
				return s.State == plugins.StateRefused && strings.Contains(s.LastError, tt.want)
			})
		})
	}
}

func TestSlackThatFails(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.BreakNext(1, "auth.test", http.StatusBadGateway)
	w.LimitNext(1, "apps.connections.open", time.Second)
	w.start(t, settings.Account{})
	w.BreakNext(1, "users.info", http.StatusBadGateway)
	w.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "hello"})
	if in := w.host.Inbound(1)[0]; in.Text != "hello" {
		t.Errorf("the agent got %+v", in)
	}
}

// A name that Slack does not say for now is asked for again with the next message.
func TestNameAfterARateLimit(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.start(t, settings.Account{})
	w.LimitNext(1, "users.info", time.Second)
	for range 2 {
		w.Say(slacktest.Message{Channel: "D1", User: "U1", Text: "hello"})
	}
	if in := w.host.Inbound(2); in[1].Name != "Ana" {
		t.Errorf("the agent got %+v", in)
	}
}

func TestFilesOfPeople(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		file  slacktest.File
		event func(file map[string]any)
		want  string
	}{
		"an image":               {slacktest.File{Name: "a.png", MIME: "image/png", Data: []byte("png")}, nil, "png"},
		"larger than is allowed": {slacktest.File{Name: "a.png", MIME: "image/png", Data: make([]byte, 21<<20)}, nil, ""},
		"it says it is small":    {slacktest.File{Name: "a.png", MIME: "image/png", Data: make([]byte, 21<<20)}, func(f map[string]any) { f["size"] = 1 }, ""},
		"no right to read it": {slacktest.File{Name: "a.png", MIME: "image/png", Data: []byte("png")}, func(f map[string]any) {
			f["url_private_download"] = strings.Replace(f["url_private_download"].(string), "/files/", "/login/", 1)
		}, ""},
		"not of Slack": {slacktest.File{Name: "a.png", MIME: "image/png"}, func(f map[string]any) {
			f["url_private_download"] = "https://slack.com.evil.test/a.png"
		}, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			w.start(t, settings.Account{})
			f := w.Share(tt.file)
			address := strings.TrimSuffix(w.URL, "/api/") + "/files/" + f.ID
			file := map[string]any{"id": f.ID, "name": f.Name, "mimetype": f.MIME, "size": len(f.Data), "url_private_download": address}
			if tt.event != nil {
				tt.event(file)
			}
			w.Event(map[string]any{"type": "message", "subtype": "file_share", "user": "U1", "channel": "D1", "text": "", "ts": "5.1", "files": []any{file}})
			in := w.host.Inbound(1)[0]
			if tt.want == "" {
				if len(in.Media) != 0 || !strings.Contains(in.Text, "a.png") {
					t.Errorf("the agent got %+v", in)
				}
				return
			}
			if len(in.Media) != 1 || in.Media[0].Name != "a.png" || in.Media[0].Kind != "image" || in.Text != "" {
				t.Fatalf("the agent got %+v", in)
			}
			if got := w.host.File(in.Media[0].Object); string(got) != tt.want {
				t.Errorf("the file is %q, want %q", got, tt.want)
			}
		})
	}
}

// A file that cannot be had ends no connection: Slack sends what was not acknowledged three
// times only, also what others have written.
func TestFileThatBreaksOff(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ broken, media int }{"once": {1, 1}, "always": {1 << 20, 0}}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWork(t)
			w.start(t, settings.Account{})
			w.BreakFiles(tt.broken)
			f := w.Share(slacktest.File{Name: "a.png", MIME: "image/png", Data: []byte("png")})
			w.Say(slacktest.Message{Channel: "D1", User: "U1", Files: []slacktest.File{f}})
			w.Say(slacktest.Message{Channel: "D2", User: "U2", Text: "hello"})
			in := w.host.Inbound(2)
			if len(in[0].Media) != tt.media || tt.media == 0 && !strings.Contains(in[0].Text, "a.png") || in[1].Text != "hello" {
				t.Errorf("the agent got %+v", in)
			}
			if n := w.Connections(); n != 1 {
				t.Errorf("the app has connected %d times", n)
			}
		})
	}
}

func TestExternalFileKeepsItsAddress(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.start(t, settings.Account{})
	w.Event(map[string]any{
		"type": "message", "subtype": "file_share", "user": "U1", "channel": "D1", "text": "see", "ts": "5.1",
		"files": []any{map[string]any{"id": "F1", "name": "a.doc", "is_external": true, "url_private": "https://docs.test/a"}},
	})
	in := w.host.Inbound(1)[0]
	if len(in.Media) != 1 || in.Media[0].URL != "https://docs.test/a" {
		t.Errorf("the agent got %+v", in)
	}
}

func TestMessageThatIsTooLarge(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.start(t, settings.Account{})
	w.Say(slacktest.Message{Channel: "D1", User: "U1", Text: strings.Repeat("x", 2<<20)})
	waittest.Until(t, "the app says so", func() bool {
		sent := w.Messages("D1")
		return len(sent) == 1 && strings.Contains(sent[0].Text, "too large")
	})
	waittest.Until(t, "the event is acknowledged", func() bool { return w.Unacknowledged() == 0 })
}

func TestCheck(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	check := func(app, bot string) (string, error) {
		c, err := slack.New(settings.Slack{AppToken: app, BotToken: bot, API: w.URL})
		if err != nil {
			t.Fatal(err)
		}
		return c.(*slack.Channel).Check(t.Context())
	}
	if as, err := check(slacktest.AppToken, slacktest.BotToken); as != "bot in Team" || err != nil {
		t.Errorf("Check: got %q, %v", as, err)
	}
	for _, tokens := range [][2]string{{"xapp-x", slacktest.BotToken}, {slacktest.AppToken, "xoxb-x"}} {
		if as, err := check(tokens[0], tokens[1]); as != "" || err == nil || !strings.Contains(err.Error(), "invalid_auth") {
			t.Errorf("Check with %q: got %q, %v", tokens, as, err)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		settings settings.Slack
		want     string
	}{
		"both tokens":    {settings.Slack{AppToken: "xapp-1", BotToken: "xoxb-1"}, ""},
		"no app token":   {settings.Slack{BotToken: "xoxb-1"}, "app_token"},
		"no bot token":   {settings.Slack{AppToken: "xapp-1"}, "bot_token"},
		"swapped tokens": {settings.Slack{AppToken: "xoxb-1", BotToken: "xapp-1"}, "in the other's place"},
		"a bad address":  {settings.Slack{AppToken: "xapp-1", BotToken: "xoxb-1", API: "slack"}, "api"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := slack.New(tt.settings)
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("New: %v, want %q", err, tt.want)
			}
		})
	}
}
