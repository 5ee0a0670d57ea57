package client

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"strings"

	"agenthost/bus"
	"agenthost/session"

	"github.com/nats-io/nats.go"
)

// A Target is a chat that an agent can write to without having been asked there.
type Target struct {
	Channel  string
	Instance string // empty: the channel has no accounts
	Chat     string // the chat, or the person
}

var targetPlace = regexp.MustCompile(`^([a-z0-9_-]{1,63})(?:\.([a-z0-9_-]{1,63}))?$`)

// ParseTarget reads a target such as telegram.sales/42.
func ParseTarget(text string) (Target, error) {
	place, chat, _ := strings.Cut(text, "/")
	m := targetPlace.FindStringSubmatch(place)
	if m == nil || chat == "" {
		return Target{}, &NameError{fmt.Errorf("chat %q: want <channel>/<chat> or <channel>.<instance>/<chat>, such as telegram.sales/42", text)}
	}
	return Target{Channel: m[1], Instance: m[2], Chat: chat}, nil
}

func (t Target) subject() string {
	if t.Instance == "" {
		return bus.OutboundPrefix + t.Channel
	}
	return bus.OutboundPrefix + t.Channel + "." + t.Instance
}

// Notify gives an agent a message whose answer goes to a chat, as a notice. It
// returns when NATS has stored the message.
func (c *Client) Notify(ctx context.Context, agent string, m Message, from string, to Target) (Receipt, error) {
	from = cmp.Or(from, "client")
	task := bus.Route{
		ID: m.ID, Kind: bus.RouteEvent, From: from, Text: m.Text, Door: c.door,
		Origin: &bus.Origin{Agent: agent, Subject: to.subject(), To: to.Chat, Chat: to.Chat},
	}
	msg, err := bus.NewMessage(bus.RoutePrefix+agent, task)
	if err != nil {
		return Receipt{}, fmt.Errorf("encode message: %w", err)
	}
	msg.Header.Set(nats.MsgIdHdr, m.ID)
	ack, err := c.store(ctx, msg)
	if err != nil {
		return Receipt{}, fmt.Errorf("send to %s: %w", agent, err)
	}
	return Receipt{ID: m.ID, Stream: ack.Stream, Seq: ack.Sequence, Session: string(session.Event(from))}, nil
}
