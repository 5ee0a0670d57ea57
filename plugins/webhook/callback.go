package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"agenthost/plugins"
	"agenthost/plugins/settings"
)

const (
	// postWithin is how long the other side has to answer.
	postWithin = 30 * time.Second
	// quoted is how much of its answer an error repeats.
	quoted = 300
)

// Deliver posts a reply to the callback. Without a callback the reply is dropped.
func (c *Channel) Deliver(ctx context.Context, m plugins.Message) (string, error) {
	if c.cfg.Reply != settings.ReplyCallback {
		return m.Reply.ID, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.cfg.Callback, bytes.NewReader(m.Envelope))
	if err != nil {
		return "", plugins.Permanent(fmt.Errorf("callback: %w", withoutAddress(err)))
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "agenthost")
	c.signer.sign(req.Header, m.Reply.ID, time.Now(), m.Envelope)
	resp, err := c.client.Do(req)
	if err != nil {
		return "", fmt.Errorf("callback: %w", withoutAddress(err))
	}
	defer func() { _ = resp.Body.Close() }()
	words, _ := io.ReadAll(io.LimitReader(resp.Body, quoted)) // what it says is only for people
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	return m.Reply.ID, verdict(resp, words)
}

// withoutAddress is an error of the HTTP client without the address, which may hold a secret.
func withoutAddress(err error) error {
	if withURL, ok := errors.AsType[*url.Error](err); ok {
		return withURL.Err
	}
	return err
}

// verdict is what the other side's answer comes to.
func verdict(resp *http.Response, words []byte) error {
	if resp.StatusCode/100 == 2 {
		return nil
	}
	err := fmt.Errorf("callback answered %s", resp.Status)
	if text := strings.ToValidUTF8(strings.TrimSpace(string(words)), "\uFFFD"); text != "" {
		err = fmt.Errorf("%w: %s", err, text)
	}
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "":
		return &plugins.RateLimitError{After: after(resp.Header.Get("Retry-After")), Account: true, Err: err}
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code/100 == 5:
		return err
	}
	return plugins.Permanent(err)
}

// after reads Retry-After: seconds, or a date.
func after(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return max(0, time.Duration(seconds)*time.Second)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
