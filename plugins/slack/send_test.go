package slack_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
	"agenthost/plugins/slack/slacktest"

	"github.com/google/go-cmp/cmp"
)

// sent waits for the nth message of the app in a channel.
func (w *work) sent(t *testing.T, channel string, n int) slacktest.Message {
	t.Helper()
	waittest.Until(t, "a message of the app", func() bool { return len(w.Messages(channel)) >= n })
	return w.Messages(channel)[n-1]
}

func TestMarkup(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	ch := w.start(t, settings.Account{})
	tests := map[string]struct{ markdown, want string }{
		"marks":    {"**b** *i* ~~s~~ `c`", "*b* _i_ ~s~ `c`"},
		"a link":   {"[a|b](https://x.test/?a=1&b=2)", "<https://x.test/?a=1&amp;b=2|a¦b>"},
		"an alert": {"<!channel> <@U1> a & b", "&lt;!channel&gt; &lt;@U1&gt; a &amp; b"},
		"code":     {"```go\na < b\n```", "```\na &lt; b\n```"},
		"a quote":  {"> said", "> said"},
		"a list":   {"- a\n- b", "• a\n• b"},
	}
	for name, tt := range tests {
		if got := ch.Limits().Render(tt.markdown); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestReplyInThread(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.start(t, settings.Account{})
	w.host.Send(bus.Outbound{To: "U1", Chat: "C1", Thread: "1.5", Text: "**yes**"})
	m := w.sent(t, "C1", 1)
	if m.Thread != "1.5" || m.Text != "*yes*" {
		t.Errorf("the app sent %+v", m)
	}
	w.host.Send(bus.Outbound{To: "U2", Text: "to Ben"})
	if got := w.sent(t, "D2", 1).Text; got != "to Ben" {
		t.Errorf("Ben got %q", got)
	}
}

func TestButtons(t *testing.T) {
	for channel, stay := range map[string]bool{"D1": false, "C1": true} {
		t.Run(channel, func(t *testing.T) {
			w := newWork(t)
			ch := w.start(t, settings.Account{})
			text := strings.Repeat("a line of text\n", 250) // more than a section takes
			id, err := ch.Deliver(t.Context(), plugins.Message{
				Key: "k", Place: plugins.Place{Chat: channel}, Text: text,
				Buttons: []plugins.Button{{Label: "Yes " + strings.Repeat("é", 100), Data: "y"}, {Label: "No", Data: "n"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			m := w.sent(t, channel, 1)
			if got := shown(m).Buttons; id != channel+":"+m.Time || len(got) != 2 || got[1] != "No" || len([]rune(got[0])) != 75 {
				t.Fatalf("%s has the buttons %q", id, got)
			}
			w.Press(channel, m.Time, "U1", "No")
			waittest.Until(t, "the press is acknowledged", func() bool { return w.Unacknowledged() == 0 && w.Acknowledged() == 1 })
			waittest.Until(t, "the choice is shown", func() bool { return strings.HasSuffix(w.sent(t, channel, 1).Text, "<@U1>: *No*") })
			if got := len(shown(w.sent(t, channel, 1)).Buttons) > 0; got != stay {
				t.Errorf("the buttons are there: %t, want %t", got, stay)
			}
		})
	}
}

func TestPreviewByEdits(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	ch := w.start(t, settings.Account{})
	preview(t, w, ch, plugins.Place{To: "U1", Chat: "D1"}, false)
}

func TestPreviewWhereNothingIsStreamed(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	ch := w.start(t, settings.Account{})
	preview(t, w, ch, plugins.Place{To: "U1", Chat: "D1", Thread: "1.5"}, false)
}

func TestPreviewByStream(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	w.OfferStreams()
	ch := w.start(t, settings.Account{})
	preview(t, w, ch, plugins.Place{To: "U1", Chat: "D1", Thread: "1.5"}, true)
}

// preview shows an answer as it grows, with one text that does not go on from the one
// before, and puts the reply in its place.
func preview(t *testing.T, w *work, ch plugins.Channel, to plugins.Place, streamed bool) {
	t.Helper()
	want := func(text string) string {
		if streamed {
			return strings.ReplaceAll(text, "*", "**") // a stream is in Markdown
		}
		return text
	}
	id := ""
	for _, text := range []string{"one\n", "one\n", "one\n*two*\n"} {
		next, err := ch.Preview(t.Context(), to, id, text)
		if err != nil || (id != "" && next != id) {
			t.Fatalf("Preview %q: got %q, %v, want %q", text, next, err, id)
		}
		id = next
		if m := w.sent(t, to.Chat, 1); m.Text != want(text) || m.Streaming != streamed || m.Thread != to.Thread {
			t.Fatalf("the preview of %q is %+v", text, m)
		}
	}
	if _, err := ch.Preview(t.Context(), to, id, "another\n"); err != nil {
		t.Fatal(err)
	}
	if m := w.sent(t, to.Chat, 1); m.Text != "another\n" || m.Streaming {
		t.Errorf("the preview is %+v", m)
	}
	reply := strings.Repeat("x", ch.Limits().Text)
	for range 2 {
		if got, err := ch.Deliver(t.Context(), plugins.Message{Key: "k", Place: to, Text: reply, Preview: id}); err != nil || got != id {
			t.Fatalf("Deliver: got %q, %v, want %q", got, err, id)
		}
	}
	if m := w.Messages(to.Chat); len(m) != 1 || m[0].Text != reply || m[0].Streamed != streamed {
		t.Errorf("the app sent %+v", m)
	}
}

func TestReplyToPreview(t *testing.T) {
	t.Parallel()
	tests := map[string]func(w *work){
		"of a host that died": func(*work) {},
		"still streaming":     func(*work) {},
		"ended by Slack":      func(w *work) { w.FailNext(1, "chat.stopStream", "message_not_in_streaming_state"); w.EndStreams() },
		"the preview is gone": func(w *work) { w.FailNext(1, "chat.update", "message_not_found") },
	}
	for name, prepare := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			w.OfferStreams()
			ch := w.start(t, settings.Account{})
			to := plugins.Place{To: "U1", Chat: "D1", Thread: "1.5"}
			id, err := ch.Preview(t.Context(), to, "", "one")
			if err != nil {
				t.Fatal(err)
			}
			prepare(w)
			if name == "of a host that died" {
				ch = newChannel(t, w.Server)
			}
			if _, err := ch.Deliver(t.Context(), plugins.Message{Key: "k", Place: to, Text: "reply", Preview: id}); err != nil {
				t.Fatal(err)
			}
			sent := w.Messages("D1")
			if last := sent[len(sent)-1]; last.Text != "reply" || last.Thread != "1.5" {
				t.Errorf("the app sent %+v", sent)
			}
		})
	}
}

// A message whose answer was lost is looked for before it is sent again.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		thread  string
		prepare func(w *work)
		want    int // messages
	}{
		"in a channel":       {"", func(w *work) { w.LoseNext(1, "chat.postMessage") }, 1},
		"in a thread":        {"1.5", func(w *work) { w.LoseNext(1, "chat.postMessage") }, 1},
		"it had not arrived": {"", func(w *work) { w.BreakNext(1, "chat.postMessage", http.StatusBadGateway) }, 1},
		"the app may not read there": {"", func(w *work) {
			w.LoseNext(1, "chat.postMessage")
			w.FailNext(1, "conversations.history", "missing_scope")
		}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			ch := w.start(t, settings.Account{})
			tt.prepare(w)
			m := plugins.Message{Key: "k", Place: plugins.Place{Chat: "C1", Thread: tt.thread}, Text: "once"}
			if _, err := ch.Deliver(t.Context(), m); err == nil {
				t.Fatal("Deliver: no error though the answer was lost")
			}
			id, err := ch.Deliver(t.Context(), m)
			sent := w.Messages("C1")
			if err != nil || len(sent) != tt.want || id != "C1:"+sent[tt.want-1].Time {
				t.Errorf("Deliver: got %q, %v; the app sent %+v", id, err, sent)
			}
		})
	}
}

// As long as Slack cannot say whether a message has arrived, it is not sent again.
func TestMessageIsNotSentAgainUnseen(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"internal_error", "ratelimited", "fatal_error"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			w := newWork(t)
			ch := w.start(t, settings.Account{})
			w.LoseNext(1, "chat.postMessage")
			w.FailNext(1, "conversations.history", word)
			m := plugins.Message{Key: "k", Place: plugins.Place{Chat: "C1"}, Text: "once"}
			for range 2 {
				if _, err := ch.Deliver(t.Context(), m); err == nil {
					t.Error("Deliver: no error though it is not known whether the message has arrived")
				}
			}
			_, err := ch.Deliver(t.Context(), m)
			if n := len(w.Messages("C1")); err != nil || n != 1 {
				t.Errorf("Deliver: %v; the app sent %d messages", err, n)
			}
		})
	}
}

func TestFilesOfAgents(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	ch := w.start(t, settings.Account{})
	m := plugins.Message{Key: "k", Place: plugins.Place{Chat: "C1", Thread: "1.5"}, File: &plugins.File{Name: "a.txt", Data: []byte("content")}}
	if _, err := ch.Deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	sent := w.sent(t, "C1", 1)
	if sent.Thread != "1.5" || len(sent.Files) != 1 || sent.Files[0].Name != "a.txt" || string(sent.Files[0].Data) != "content" {
		t.Errorf("the app sent %+v", sent)
	}
	m.File = &plugins.File{Name: "b.txt", URL: "https://shop.test/?a&b"}
	if _, err := ch.Deliver(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if got := w.sent(t, "C1", 2).Text; got != "b.txt https://shop.test/?a&amp;b" {
		t.Errorf("a file elsewhere: %q", got)
	}
	m.File = &plugins.File{Name: "c.txt", Data: []byte("content")}
	for _, method := range []string{"files.getUploadURLExternal", "files.completeUploadExternal"} {
		w.FailNext(1, method, "file_upload_size_restricted")
		_, err := ch.Deliver(t.Context(), m)
		if _, permanent := errors.AsType[*plugins.PermanentError](err); !permanent {
			t.Errorf("%s refuses: %v", method, err)
		}
	}
}

func TestTyping(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	ch := w.start(t, settings.Account{})
	typing := func(to plugins.Place) {
		t.Helper()
		if err := ch.Typing(t.Context(), to); err != nil {
			t.Error(err)
		}
	}
	typing(plugins.Place{Chat: "D1"})
	typing(plugins.Place{Chat: "D1", Thread: "1.5"})
	if got := w.Status("D1", "1.5"); got == "" {
		t.Error("no status is shown in the thread")
	}
	w.FailNext(1, "assistant.threads.setStatus", "channel_not_found")
	typing(plugins.Place{Chat: "C1", Thread: "1.6"})
	w.LimitNext(1, "assistant.threads.setStatus", time.Second)
	if err := ch.Typing(t.Context(), plugins.Place{Chat: "D1", Thread: "1.7"}); err == nil {
		t.Error("a rate limit is no error")
	}
	w.FailNext(1, "assistant.threads.setStatus", "missing_scope")
	typing(plugins.Place{Chat: "D1", Thread: "1.8"})
	typing(plugins.Place{Chat: "D1", Thread: "1.9"}) // is not asked for again
	if got := w.Status("D1", "1.9"); got != "" {
		t.Errorf("a status without the scope: %q", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		word             string
		permanent, login bool
		cure             string
	}{
		"unknown channel": {"channel_not_found", true, false, "invite"},
		"not invited":     {"not_in_channel", true, false, "/invite"},
		"archived":        {"is_archived", true, false, "archived"},
		"too long":        {"msg_too_long", true, false, "too long"},
		"another word":    {"invalid_blocks", true, false, "invalid_blocks"},
		"revoked":         {"token_revoked", false, true, "install"},
		"invalid":         {"invalid_auth", false, true, "bot_token"},
		"inactive":        {"account_inactive", false, true, "install"},
		"one channel":     {"access_denied", false, false, "administrators"},
		"Slack fails":     {"internal_error", false, false, "internal_error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWork(t)
			ch := w.start(t, settings.Account{})
			w.FailNext(1, "chat.postMessage", tt.word)
			_, err := ch.Deliver(t.Context(), plugins.Message{Key: "k", Place: plugins.Place{Chat: "C1"}, Text: "x"})
			_, permanent := errors.AsType[*plugins.PermanentError](err)
			_, login := errors.AsType[*plugins.LoginError](err)
			if err == nil || permanent != tt.permanent || login != tt.login || !strings.Contains(err.Error(), tt.cure) {
				t.Errorf("got %v; permanent %t, login %t", err, permanent, login)
			}
		})
	}
}

// What is no word of Slack is a proxy's: the message is tried again.
func TestWordsOfAProxy(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{http.StatusForbidden: false, http.StatusNotFound: false, http.StatusBadGateway: false, http.StatusRequestEntityTooLarge: true} {
		w := newWork(t)
		ch := w.start(t, settings.Account{})
		w.BreakNext(1, "chat.postMessage", status)
		_, err := ch.Deliver(t.Context(), plugins.Message{Key: "k", Place: plugins.Place{Chat: "C1"}, Text: "x"})
		if _, permanent := errors.AsType[*plugins.PermanentError](err); err == nil || permanent != want {
			t.Errorf("%d: got %v; permanent %t", status, err, permanent)
		}
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	ch := w.start(t, settings.Account{})
	for _, method := range []string{"chat.postMessage", "chat.update"} {
		w.LimitNext(1, method, 30*time.Second)
		m := plugins.Message{Key: "k", Place: plugins.Place{Chat: "C1"}, Text: "x"}
		if method == "chat.update" {
			m.Preview = "C1:1.1"
		}
		_, err := ch.Deliver(t.Context(), m)
		limit, ok := errors.AsType[*plugins.RateLimitError](err)
		if !ok || limit.After != 30*time.Second || limit.Account {
			t.Errorf("%s: got %#v, want 30 s for the channel", method, err)
		}
	}
}

func TestMessageToNobody(t *testing.T) {
	t.Parallel()
	w := newWork(t)
	ch := w.start(t, settings.Account{})
	w.FailNext(1, "conversations.open", "user_not_found")
	for _, to := range []plugins.Place{{}, {To: "U9"}} {
		_, err := ch.Deliver(t.Context(), plugins.Message{Key: "k", Place: to, Text: "x"})
		if _, permanent := errors.AsType[*plugins.PermanentError](err); !permanent {
			t.Errorf("to %+v: %v", to, err)
		}
	}
	if diff := cmp.Diff([]slacktest.Message(nil), w.Messages("D9")); diff != "" {
		t.Error(diff)
	}
}
