package telegramtest

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// A webhook is where updates are sent.
type webhook struct {
	url, secret, failed string
}

// webhookMethod sets, deletes or shows the webhook. Unlike Telegram it takes http
// for this machine. Called with the lock held.
func (s *Server) webhookMethod(c Call) (any, *Refusal) {
	switch c.Method {
	case "setWebhook":
		url := c.Text("url")
		if !strings.HasPrefix(url, "https://") && !strings.HasPrefix(url, "http://127.0.0.1") {
			return nil, badRequest("bad webhook: An HTTPS URL must be provided for webhook")
		}
		s.webhook = webhook{url: url, secret: c.Text("secret_token")}
		return true, nil
	case "deleteWebhook":
		s.webhook = webhook{}
		return true, nil
	}
	return map[string]any{
		"url": s.webhook.url, "has_custom_certificate": false, "pending_update_count": len(s.updates), "last_error_message": s.webhook.failed,
	}, nil
}

// push sends updates to the webhook, one after the other. What is not answered
// with 2xx is sent again.
func (s *Server) push(ctx context.Context) {
	for ctx.Err() == nil {
		s.mu.Lock()
		hook, changed := s.webhook, s.changed
		var first *update
		if hook.url != "" && len(s.updates) > 0 {
			first = &s.updates[0]
		}
		s.mu.Unlock()
		if first == nil {
			select {
			case <-changed:
			case <-ctx.Done():
			}
			continue
		}
		if s.post(ctx, hook, *first) {
			s.mu.Lock()
			s.acknowledge(first.ID + 1)
			s.mu.Unlock()
			continue
		}
		select {
		case <-time.After(50 * time.Millisecond): // Telegram takes longer
		case <-ctx.Done():
		}
	}
}

func (s *Server) post(ctx context.Context, hook webhook, u update) bool {
	body, err := json.Marshal(u.json())
	if err != nil {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.url, bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Content-Type", "application/json")
	if hook.secret != "" {
		req.Header.Set("X-Telegram-Bot-Api-Secret-Token", hook.secret)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	if resp.StatusCode/100 != 2 {
		s.webhook.failed = "Wrong response from the webhook: " + resp.Status
		s.touch()
		return false
	}
	return true
}

// Webhook is the address to which updates are sent, the secret that goes along, and
// the last refusal.
func (s *Server) Webhook() (url, secret, failed string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.webhook.url, s.webhook.secret, s.webhook.failed
}
