package telegram_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"agenthost/plugins"
	"agenthost/plugins/internal/inboxtest"
	"agenthost/plugins/settings"
	"agenthost/plugins/telegram/telegramtest"
)

func TestPollingDeletesTheWebhook(t *testing.T) {
	t.Parallel()
	srv := telegramtest.New(t)
	resp, err := http.PostForm(srv.URL+"/bot"+telegramtest.Token+"/setWebhook", url.Values{"url": {"https://elsewhere.test"}})
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	host := inboxtest.New(t)
	c, _ := host.Start(channel(t, settings.Telegram{API: srv.URL, Token: telegramtest.Token}), settings.Account{}, plugins.StateConnected)
	srv.Write(telegramtest.Message{From: ana, Text: "hello"})
	if got := host.Next().Text; got != "hello" {
		t.Errorf("it takes %q", got)
	}
	if as := c.Status().As; as != "@"+telegramtest.Username {
		t.Errorf("it is connected as %q", as)
	}
}

// TestAnUpdateIsAcknowledgedWhenItIsTaken: while JetStream does not answer, nothing is.
func TestAnUpdateIsAcknowledgedWhenItIsTaken(t *testing.T) {
	t.Parallel()
	srv := telegramtest.New(t)
	host := inboxtest.New(t)
	ch := channel(t, settings.Telegram{API: srv.URL, Token: telegramtest.Token})
	_, stop := host.Start(ch, settings.Account{}, plugins.StateConnected)
	srv.Write(telegramtest.Message{From: ana, Text: "one"})
	host.Next()
	srv.Wait(t, "the acknowledgement", func() bool { return srv.Waiting() == 0 })
	stop()
	srv.Write(telegramtest.Message{From: ana, Text: "two"})
	if srv.Waiting() != 1 {
		t.Error("who acknowledged it?")
	}
	host.Start(ch, settings.Account{}, plugins.StateConnected)
	if got := host.Next().Text; got != "two" {
		t.Errorf("it takes %q", got)
	}
}

// TestOfABatchTheRestComesAgain: the second of three cannot be taken at first.
func TestOfABatchTheRestComesAgain(t *testing.T) {
	t.Parallel()
	srv := telegramtest.New(t)
	srv.Write(telegramtest.Message{From: ana, Text: "one"})
	srv.Write(telegramtest.Message{From: ana, Text: "two", File: &telegramtest.File{Kind: "document", Name: "a", Data: []byte("x")}})
	srv.Write(telegramtest.Message{From: ana, Text: "three"})
	srv.Refuse("getFile", telegramtest.Refusal{Code: 502, Description: "Bad Gateway"})
	host := inboxtest.New(t)
	host.Start(channel(t, settings.Telegram{API: srv.URL, Token: telegramtest.Token}), settings.Account{}, plugins.StateConnected)
	for _, want := range []string{"one", "two", "three"} {
		if got := host.Next(); got.Text != want || want == "two" && len(got.Media) != 1 {
			t.Errorf("it takes %+v, want %q", got, want)
		}
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		token, method string
		refusal       telegramtest.Refusal
		state, says   string
	}{
		"a wrong token":     {"1:x", "", telegramtest.Refusal{}, plugins.StateRefused, "BotFather"},
		"a token withdrawn": {telegramtest.Token, "getUpdates", telegramtest.Refusal{Code: 401, Description: "Unauthorized"}, plugins.StateRefused, "BotFather"},
		"a second poller":   {telegramtest.Token, "getUpdates", telegramtest.Refusal{Code: 409, Description: "Conflict: terminated by other getUpdates request"}, plugins.StateRetrying, "another program polls this bot"},
		"a webhook":         {telegramtest.Token, "getUpdates", telegramtest.Refusal{Code: 409, Description: "Conflict: can't use getUpdates method while webhook is active"}, plugins.StateRetrying, "a webhook was set"},
		"too many":          {telegramtest.Token, "getMe", telegramtest.TooMany(1), plugins.StateRetrying, "Too Many Requests"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := telegramtest.New(t)
			srv.Refuse(tt.method, slices.Repeat([]telegramtest.Refusal{tt.refusal}, 5)...)
			c, _ := inboxtest.New(t).Start(channel(t, settings.Telegram{API: srv.URL, Token: tt.token}), settings.Account{}, tt.state)
			got := c.Status().LastError
			if !strings.Contains(got, tt.says) || strings.Contains(got, "telegramtest-token") {
				t.Errorf("the error is %q", got)
			}
		})
	}
}

// hooked is a bot with a webhook.
type hooked struct {
	host    *inboxtest.Host
	srv     *telegramtest.Server
	url     string
	courier *plugins.Courier
}

func webhook(t *testing.T) hooked {
	t.Helper()
	var handler http.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	h := hooked{host: inboxtest.New(t), srv: telegramtest.New(t), url: front.URL + "/hooks/telegram.sales"}
	ch := channel(t, settings.Telegram{API: h.srv.URL, Token: telegramtest.Token, Webhook: h.url})
	// Any host serves the requests, also one that does not own the account.
	other := channel(t, settings.Telegram{API: h.srv.URL, Token: telegramtest.Token, Webhook: h.url})
	handler = other.Handler(h.host.Courier(other, settings.Account{}).Inbox())
	h.courier, _ = h.host.Start(ch, settings.Account{}, plugins.StateConnected)
	return h
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	h := webhook(t)
	if n := h.srv.Calls("setWebhook")[0].Number("max_connections"); n != 1 { // else messages overtake each other
		t.Errorf("Telegram may send %d updates at once", n)
	}
	at, secret, _ := h.srv.Webhook()
	if at != h.url || len(secret) != 64 || strings.Contains(secret, "telegramtest") {
		t.Errorf("the webhook is %s with secret %q", at, secret)
	}
	for _, text := range []string{"one", "two"} {
		h.srv.Write(telegramtest.Message{From: ana, Text: text})
		if got := h.host.Next().Text; got != text {
			t.Errorf("it takes %q, want %q", got, text)
		}
	}
	h.srv.Wait(t, "the acknowledgement", func() bool { return h.srv.Waiting() == 0 })
	if n := len(h.srv.Calls("getUpdates")); n != 0 {
		t.Errorf("it polled %d times", n)
	}
}

func TestWebhookRefuses(t *testing.T) {
	t.Parallel()
	h := webhook(t)
	_, secret, _ := h.srv.Webhook()
	tests := map[string]struct {
		method, secret, body string
		status               int
	}{
		"another method":       {http.MethodGet, secret, "", http.StatusMethodNotAllowed},
		"no secret":            {http.MethodPost, "", "{}", http.StatusUnauthorized},
		"a wrong secret":       {http.MethodPost, "wrong", "{}", http.StatusUnauthorized},
		"no JSON":              {http.MethodPost, secret, "text", http.StatusBadRequest},
		"more than an update":  {http.MethodPost, secret, `{"a":"` + strings.Repeat("x", 2<<20) + `"}`, http.StatusBadRequest},
		"an update of no kind": {http.MethodPost, secret, `{"update_id":1}`, http.StatusOK},
		"of another shape":     {http.MethodPost, secret, `{"update_id":2,"message":"text"}`, http.StatusOK}, // it would come again
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), tt.method, h.url, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			if tt.secret != "" {
				req.Header.Set("X-Telegram-Bot-Api-Secret-Token", tt.secret)
			}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tt.status {
				t.Errorf("it answers %s, want %d", resp.Status, tt.status)
			}
		})
	}
}

func TestWebhookAnswers503WhileNATSIsAway(t *testing.T) {
	t.Parallel()
	h := webhook(t)
	h.host.Bus.NC.Close()
	h.srv.Write(telegramtest.Message{From: ana, Text: "hello"})
	h.srv.Wait(t, "a refusal", func() bool { _, _, failed := h.srv.Webhook(); return strings.Contains(failed, "503") })
	if h.srv.Waiting() != 1 {
		t.Error("the update is lost")
	}
}

func TestAWebhookThatTelegramDoesNotTake(t *testing.T) {
	t.Parallel()
	srv := telegramtest.New(t)
	ch := channel(t, settings.Telegram{API: srv.URL, Token: telegramtest.Token, Webhook: "http://plain.test"})
	c, _ := inboxtest.New(t).Start(ch, settings.Account{}, plugins.StateRefused)
	if got := c.Status().LastError; !strings.Contains(got, "https") {
		t.Errorf("the error is %q", got)
	}
}

func TestAPolledBotHasNoWebhook(t *testing.T) {
	t.Parallel()
	srv := telegramtest.New(t)
	ch := channel(t, settings.Telegram{API: srv.URL, Token: telegramtest.Token})
	w := httptest.NewRecorder()
	host := inboxtest.New(t)
	ch.Handler(host.Courier(ch, settings.Account{}).Inbox()).ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}")))
	if w.Code != http.StatusNotFound {
		t.Errorf("it answers %d", w.Code)
	}
}
