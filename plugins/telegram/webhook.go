package telegram

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"agenthost/plugins"
)

const (
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	maxUpdate    = 1 << 20
	// checkEvery is after how long the owner looks whether the webhook is still there.
	checkEvery = time.Minute
)

// secret is what Telegram sends along with each update, so that nothing else passes
// for it. All hosts derive the same from the token.
func (c *Channel) secret() string {
	mac := hmac.New(sha256.New, []byte(c.settings.Token))
	mac.Write([]byte("agenthost webhook"))
	return hex.EncodeToString(mac.Sum(nil))
}

// holdWebhook tells Telegram where to send updates, and looks from time to time
// whether that still holds. The webhook stays when it ends: another host answers.
func (c *Channel) holdWebhook(ctx context.Context, in *plugins.Inbox, bot user) error {
	err := c.api.call(ctx, "setWebhook", params{
		"url": c.settings.Webhook, "secret_token": c.secret(), "allowed_updates": updateKinds,
		"max_connections": 1, // messages that are sent side by side overtake each other
	}, nil)
	if err != nil {
		return c.webhookVerdict(err)
	}
	in.Connected("@" + bot.Username)
	tick := time.NewTicker(checkEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var now struct {
			URL string `json:"url"`
		}
		if err := c.api.call(ctx, "getWebhookInfo", params{}, &now); err != nil {
			return verdict(err, false)
		}
		if now.URL != c.settings.Webhook {
			return fmt.Errorf("the webhook was changed to %q: another program uses the same token; stop it or make a bot of its own", now.URL)
		}
	}
}

// webhookVerdict adds what to do when Telegram does not like the address.
func (c *Channel) webhookVerdict(err error) error {
	if is(err, http.StatusBadRequest, "webhook") {
		return plugins.NoLogin(fmt.Errorf("webhook %s: Telegram wants an https address that it can reach, on port 443, 80, 88 or 8443: %w", c.settings.Webhook, err))
	}
	return verdict(err, false)
}

// Handler answers Telegram's requests: 200 once JetStream has the update, 503 while
// it cannot be stored.
func (c *Channel) Handler(in *plugins.Inbox) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPost:
			w.Header().Set("Allow", http.MethodPost)
			http.Error(w, "POST only", http.StatusMethodNotAllowed)
		case c.settings.Webhook == "":
			http.Error(w, "this bot is polled: no webhook is configured", http.StatusNotFound)
		case !hmac.Equal([]byte(r.Header.Get(secretHeader)), []byte(c.secret())):
			http.Error(w, "wrong secret token", http.StatusUnauthorized)
		case !in.Ready():
			unavailable(w)
		default:
			c.answerUpdate(w, r, in)
		}
	})
}

func (c *Channel) answerUpdate(w http.ResponseWriter, r *http.Request, in *plugins.Inbox) {
	var raw json.RawMessage
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxUpdate)).Decode(&raw); err != nil {
		http.Error(w, "this is no update of the Bot API", http.StatusBadRequest)
		return
	}
	if err := c.take(r.Context(), in, readUpdate(raw)); err != nil {
		unavailable(w)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func unavailable(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "5")
	http.Error(w, "messages cannot be stored now", http.StatusServiceUnavailable)
}
