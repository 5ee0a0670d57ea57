package matrix_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/internal/waittest"
	"agenthost/plugins"
	"agenthost/plugins/matrix/matrixtest"
	"agenthost/plugins/plugintest"
	"agenthost/plugins/settings"

	"github.com/google/go-cmp/cmp"
)

// sent waits for a message of the bot.
func (h *home) sent(t *testing.T, room string, n int) matrixtest.Event {
	t.Helper()
	waittest.Until(t, "a message of the bot", func() bool { return len(h.Messages(room, h.bot)) >= n })
	return h.Messages(room, h.bot)[n-1]
}

// What has no code is a proxy's word: the message is tried again.
func TestWordsOfAProxy(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]bool{http.StatusForbidden: false, http.StatusNotFound: false, http.StatusBadGateway: false, http.StatusRequestEntityTooLarge: true} {
		h := newHome(t)
		room := h.Room(h.ana, h.bot)
		ch := h.start(t)
		h.AnswerNext(1, http.MethodPut, "/send/", func(w http.ResponseWriter) { http.Error(w, "sorry", status) })
		_, err := ch.Deliver(t.Context(), plugins.Message{Key: "k", Place: plugins.Place{Chat: room}, Text: "x", Plain: "x"})
		if _, permanent := errors.AsType[*plugins.PermanentError](err); err == nil || permanent != want {
			t.Errorf("%d: got %v; permanent %t", status, err, permanent)
		}
	}
}

func TestMarkup(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.bot)
	h.start(t)
	h.host.Send(bus.Outbound{To: h.ana, Chat: room, Text: "**bold** <b>@ana:test</b>"})
	content := h.sent(t, room, 1).Content
	want := map[string]any{
		"msgtype": "m.text", "body": "bold <b>@ana:test</b>", "format": "org.matrix.custom.html",
		"m.mentions": map[string]any{},
	}
	html, _ := content["formatted_body"].(string)
	want["formatted_body"] = content["formatted_body"]
	if diff := cmp.Diff(want, content); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(html, "<strong>bold</strong> &lt;b&gt;") {
		t.Errorf("the HTML is %q", html)
	}
}

func TestReplyInThreadAndGroup(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.ben, h.bot)
	h.start(t)
	root := h.Say(room, h.ana, "root")
	h.host.Inbound(1)
	tests := map[string]struct {
		out  bus.Outbound
		want map[string]any
	}{
		"a reply": {
			bus.Outbound{InReplyTo: root},
			map[string]any{"m.in_reply_to": map[string]any{"event_id": root}},
		},
		"in a thread": {
			bus.Outbound{Thread: root},
			map[string]any{"rel_type": "m.thread", "event_id": root, "is_falling_back": true, "m.in_reply_to": map[string]any{"event_id": root}},
		},
		"a reply in a thread": {
			bus.Outbound{Thread: root, InReplyTo: "$other"},
			map[string]any{"rel_type": "m.thread", "event_id": root, "m.in_reply_to": map[string]any{"event_id": "$other"}},
		},
		"of its own accord": {bus.Outbound{}, nil},
	}
	n := 0
	for name, tt := range tests {
		n++
		tt.out.To, tt.out.Chat, tt.out.Text = h.ana, room, name
		h.host.Send(tt.out)
		content := h.sent(t, room, n).Content
		got, _ := content["m.relates_to"].(map[string]any)
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		users, _ := content["m.mentions"].(map[string]any)["user_ids"].([]any)
		if mentioned := len(users) == 1 && users[0] == h.ana; mentioned != (tt.out.InReplyTo != "") {
			t.Errorf("%s: m.mentions is %v", name, content["m.mentions"])
		}
	}
}

func TestReplyToTheBotIsForIt(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.ben, h.bot)
	h.host = plugintest.NewHost(t, newChannel(t, h.settings), settings.Account{})
	h.host.Send(bus.Outbound{Chat: room, Text: "my own", Kind: bus.KindNotice})
	mine := h.sent(t, room, 1).ID
	h.host.Stop() // what it has sent is not remembered
	h.host.Start(newChannel(t, h.settings))
	relation := func(event string, thread bool) map[string]any {
		r := map[string]any{"m.in_reply_to": map[string]any{"event_id": event}}
		if thread {
			r["rel_type"], r["event_id"], r["is_falling_back"] = "m.thread", event, true
		}
		return map[string]any{"m.mentions": map[string]any{}, "m.relates_to": r}
	}
	hers := h.text(room, h.ana, "to all", nil)
	h.text(room, h.ben, "to Ana", relation(hers, false))
	h.text(room, h.ben, "in her thread", relation(hers, true))
	h.text(room, h.ben, "to what is gone", relation("$gone", false))
	h.text(room, h.ben, "to you", relation(mine, false))
	h.text(room, h.ana, "in your thread", relation(mine, true))
	if got, want := texts(h.host.Inbound(2)), []string{"to you", "in your thread"}; !cmp.Equal(got, want) {
		t.Errorf("the agent got %q, want %q", got, want)
	}
}

func TestPreview(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.bot)
	ch := h.start(t)
	to := plugins.Place{To: h.ana, Chat: room}
	id, err := ch.Preview(t.Context(), to, "", "one")
	if err != nil {
		t.Fatal(err)
	}
	if again, err := ch.Preview(t.Context(), to, id, "<strong>one</strong> &lt;two&gt;"); err != nil || again != id {
		t.Fatalf("Preview: got %q, %v, want %q", again, err, id)
	}
	final := strings.Repeat("x", ch.Limits().Text)
	for range 2 { // as after an answer that was lost
		if got, err := ch.Deliver(t.Context(), plugins.Message{Key: "k", Place: to, Text: final, Plain: final, Preview: id}); err != nil || got != id {
			t.Fatalf("Deliver: got %q, %v, want %q", got, err, id)
		}
	}
	events := h.Messages(room, h.bot)
	if len(events) != 3 || events[0].ID != id || events[0].Content["body"] != "one" {
		t.Fatalf("the bot sent %+v", events)
	}
	for i, want := range []string{"one <two>", final} {
		content := events[i+1].Content
		if diff := cmp.Diff(map[string]any{"rel_type": "m.replace", "event_id": id}, content["m.relates_to"]); diff != "" {
			t.Error(diff)
		}
		if got := content["m.new_content"].(map[string]any)["body"]; got != want {
			t.Errorf("edit %d shows %q", i, got)
		}
	}
}

func TestTyping(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.bot)
	ch := h.start(t)
	if err := ch.Typing(t.Context(), plugins.Place{Chat: room}); err != nil || !h.Typing(room, h.bot) {
		t.Fatalf("Typing: %v; shown: %t", err, h.Typing(room, h.bot))
	}
	h.host.Send(bus.Outbound{To: h.ana, Chat: room, Text: "done"})
	waittest.Until(t, "typing ends with the reply", func() bool { return !h.Typing(room, h.bot) })
}

func TestMessageToAPerson(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	h.Room(h.ana, h.ben, h.bot) // is not hers alone
	ch := h.start(t)
	for _, text := range []string{"one", "two"} {
		h.host.Send(bus.Outbound{To: h.ben, Text: text, Kind: bus.KindNotice})
	}
	known := h.Room(h.ana, h.bot)
	h.host.Send(bus.Outbound{To: h.ana, Text: "three"})
	if got := h.sent(t, known, 1).Content["body"]; got != "three" {
		t.Errorf("Ana got %q", got)
	}
	waittest.Until(t, "an invitation for Ben", func() bool { return len(h.Invited(h.ben)) > 0 })
	rooms := h.Invited(h.ben)
	if second := h.sent(t, rooms[0], 2).Content; second["body"] != "two" || second["msgtype"] != "m.notice" {
		t.Errorf("Ben got %v", second)
	}
	if again := h.Invited(h.ben); len(again) != 1 {
		t.Errorf("Ben is invited into %q, want one room", again)
	}
	_, err := ch.Deliver(t.Context(), plugins.Message{Key: "k", Place: plugins.Place{To: "ben"}, Text: "x"})
	if _, permanent := errors.AsType[*plugins.PermanentError](err); !permanent {
		t.Errorf("Deliver to an invalid name: %v", err)
	}
}

func TestFilesOfAgents(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.bot)
	ch := h.start(t)
	deliver := func(f plugins.File) (matrixtest.Event, error) {
		n := len(h.Messages(room, h.bot))
		_, err := ch.Deliver(t.Context(), plugins.Message{Key: f.Name, Place: plugins.Place{Chat: room}, File: &f})
		if err != nil {
			return matrixtest.Event{}, err
		}
		return h.sent(t, room, n+1), nil
	}
	for kind, msgtype := range map[string]string{"image": "m.image", "audio": "m.audio", "video": "m.video", "file": "m.file", "": "m.file"} {
		e, err := deliver(plugins.File{Name: kind + ".x", MIME: "a/b", Kind: kind, Data: []byte(kind + "1")})
		if err != nil {
			t.Fatal(err)
		}
		address, _ := e.Content["url"].(string)
		want := matrixtest.File{Name: kind + ".x", MIME: "a/b", Data: []byte(kind + "1")}
		if diff := cmp.Diff(want, h.File(address)); diff != "" || e.Content["msgtype"] != msgtype || e.Content["body"] != kind+".x" {
			t.Errorf("%s: %v %s", kind, e.Content, diff)
		}
	}
	if e, err := deliver(plugins.File{Name: "b.x", URL: "https://shop.test/b.x"}); err != nil || e.Content["body"] != "b.x https://shop.test/b.x" {
		t.Errorf("a file elsewhere: %v, %v", e.Content, err)
	}
	h.LimitFiles(3)
	_, err := deliver(plugins.File{Name: "c.x", Data: []byte("four")})
	if _, permanent := errors.AsType[*plugins.PermanentError](err); !permanent || !strings.Contains(err.Error(), "M_TOO_LARGE") {
		t.Errorf("a file that the homeserver finds too large: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status    int
		code      string
		permanent bool
		login     bool
		words     string
	}{
		"not in the room":     {http.StatusForbidden, "M_FORBIDDEN", true, false, "invite"},
		"too large":           {http.StatusRequestEntityTooLarge, "M_TOO_LARGE", true, false, "takes less"},
		"a bad request":       {http.StatusBadRequest, "M_INVALID_PARAM", true, false, "M_INVALID_PARAM"},
		"the server fails":    {http.StatusInternalServerError, "M_UNKNOWN", false, false, "M_UNKNOWN"},
		"the server is away":  {http.StatusBadGateway, "", false, false, "502"},
		"no server behind it": {http.StatusNotFound, "", false, false, "404"},
		"the token has ended": {http.StatusUnauthorized, "M_UNKNOWN_TOKEN", false, true, "token"},
		"the user was closed": {http.StatusForbidden, "M_USER_DEACTIVATED", false, true, "homeserver"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			h := newHome(t)
			room := h.Room(h.ana, h.bot)
			ch := h.start(t)
			h.FailNext(1, http.MethodPut, "/send/", tt.status, tt.code, "Words.")
			_, err := ch.Deliver(t.Context(), plugins.Message{Key: "k", Place: plugins.Place{Chat: room}, Text: "x", Plain: "x"})
			_, permanent := errors.AsType[*plugins.PermanentError](err)
			_, login := errors.AsType[*plugins.LoginError](err)
			if err == nil || permanent != tt.permanent || login != tt.login || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("got %v; permanent %t, login %t", err, permanent, login)
			}
		})
	}
}

func TestRateLimit(t *testing.T) {
	t.Parallel()
	h := newHome(t)
	room := h.Room(h.ana, h.bot)
	ch := h.start(t)
	h.LimitNext(1, 4556*time.Millisecond)
	_, err := ch.Deliver(t.Context(), plugins.Message{Key: "k", Place: plugins.Place{Chat: room}, Text: "x"})
	limit, ok := errors.AsType[*plugins.RateLimitError](err)
	if !ok || limit.After != 5*time.Second || !limit.Account {
		t.Errorf("got %#v, want 5 s for the account", err)
	}
}

func TestDeliverWithoutLogin(t *testing.T) {
	t.Parallel()
	ch := newChannel(t, settings.Matrix{Homeserver: "http://127.0.0.1:1", Token: "t"})
	if _, err := ch.Deliver(t.Context(), plugins.Message{}); err == nil {
		t.Error("Deliver: no error before the account is logged in")
	}
	if _, err := ch.Preview(t.Context(), plugins.Place{}, "", ""); err == nil {
		t.Error("Preview: no error before the account is logged in")
	}
	if err := ch.Typing(t.Context(), plugins.Place{}); err == nil {
		t.Error("Typing: no error before the account is logged in")
	}
}
