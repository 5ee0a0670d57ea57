// Package webhook takes messages by HTTP requests of other programs, and sends
// replies to them.
package webhook

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"agenthost/internal/httptransport"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

// Defaults of settings.Webhook.
const (
	defaultMaxBody settings.Bytes = 1 << 20
	defaultWait                   = 30 * time.Second
)

// A Channel is one sender of webhooks. It implements plugins.Receiver.
type Channel struct {
	cfg    settings.Webhook
	text   *settings.Template // nil: bodies are envelopes
	signer signer
	client *http.Client // of the callback
	bodies *budget
	asking chan struct{} // a place for each request that waits for a reply
	seen   *seen
}

// New makes a Channel.
func New(cfg settings.Webhook) (*Channel, error) {
	key, err := settings.Secret(cfg.Secret)
	if err != nil {
		return nil, err
	}
	c := &Channel{
		cfg: cfg, signer: signer{scheme: cmp.Or(cfg.Scheme, settings.SchemeStandard), key: key, secret: cfg.Secret},
		bodies: newBudget(), asking: make(chan struct{}, mostAsking), seen: newSeen(),
		client: &http.Client{
			Transport:     httptransport.New(),
			Timeout:       postWithin,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
	c.cfg.MaxBody, c.cfg.Wait = cmp.Or(cfg.MaxBody, defaultMaxBody), cmp.Or(cfg.Wait, defaultWait)
	if cfg.Text != "" {
		c.text, err = settings.ParseTemplate(cfg.Text)
	}
	return c, err
}

// Run waits for the end: there is nothing to connect to.
func (c *Channel) Run(ctx context.Context, in *plugins.Inbox) error {
	in.Connected("")
	<-ctx.Done()
	c.client.CloseIdleConnections()
	return ctx.Err()
}

// Typing does nothing.
func (c *Channel) Typing(context.Context, plugins.Place) error { return nil }

// Preview does nothing.
func (c *Channel) Preview(context.Context, plugins.Place, string, string) (string, error) {
	return "", nil
}

// Limits say that the other side gets whole replies, and that their ids tell it
// which it has had.
func (c *Channel) Limits() plugins.Limits { return plugins.Limits{Whole: true, Idempotent: true} }
