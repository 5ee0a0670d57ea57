package slack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"agenthost/plugins"
)

const (
	eventType     = "agenthost_message"
	uncertainMost = 1000
	readBack      = "100" // messages in which one is looked for
	readBackFor   = 30 * time.Minute
)

// once sends a message under a key. Slack does not know a message again, so when an
// earlier try broke off, it is looked for in the channel before it is sent again.
func (c *Channel) once(ctx context.Context, channel, key string, content url.Values) (string, error) {
	c.mu.Lock()
	tried := c.uncertain[key]
	c.mu.Unlock()
	if tried {
		ts, err := c.find(ctx, channel, content.Get("thread_ts"), key)
		if err != nil || ts != "" {
			return ts, err
		}
	}
	content.Set("metadata", inJSON(map[string]any{"event_type": eventType, "event_payload": map[string]string{"key": key}}))
	ts, err := c.post(ctx, channel, content)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil && unknownOutcome(err) {
		if len(c.uncertain) >= uncertainMost {
			clear(c.uncertain)
		}
		c.uncertain[key] = true
		return "", err
	}
	delete(c.uncertain, key)
	return ts, err
}

// unknownOutcome reports whether a message may have been sent though the call failed.
func unknownOutcome(err error) bool {
	var refused *apiError
	var limit *plugins.RateLimitError
	switch {
	case errors.As(err, &limit):
		return false
	case errors.As(err, &refused):
		return refused.Status >= 500 || transient[refused.Code]
	}
	return true
}

// find looks for a message of a key among the last ones of a channel or thread. Where
// the app may not read them, it is as if there were none.
func (c *Channel) find(ctx context.Context, channel, thread, key string) (string, error) {
	method := "conversations.history"
	if thread != "" {
		method = "conversations.replies"
	}
	var page struct {
		Messages []struct {
			Time     string `json:"ts"`
			Metadata struct {
				Type    string            `json:"event_type"`
				Payload map[string]string `json:"event_payload"`
			} `json:"metadata"`
		} `json:"messages"`
	}
	// The pages of a thread begin with its oldest message, so the time is limited too.
	oldest := strconv.FormatInt(time.Now().Add(-readBackFor).Unix(), 10)
	err := c.call(ctx, method, arguments("channel", channel, "ts", thread, "oldest", oldest, "limit", readBack, "include_all_metadata", "true"), &page)
	if forGood(err) {
		return "", nil
	}
	if err != nil {
		return "", deliveryError(fmt.Errorf("look for a message that may have arrived: %w", err), channel)
	}
	for _, m := range page.Messages {
		if m.Metadata.Type == eventType && m.Metadata.Payload["key"] == key {
			return m.Time, nil
		}
	}
	return "", nil
}
