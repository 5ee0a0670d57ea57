package doctor

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// hasSubscriber reports whether a message on subject would reach a subscriber. It sends
// one that NATS only traces and delivers to none.
func hasSubscriber(ctx context.Context, nc *nats.Conn, subject string) (bool, error) {
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return false, fmt.Errorf("look for a subscriber of %s: %w", subject, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	msg := nats.NewMsg(subject)
	msg.Header.Set(server.MsgTraceDest, sub.Subject)
	msg.Header.Set(server.MsgTraceOnly, "true")
	if err := nc.PublishMsg(msg); err != nil {
		return false, fmt.Errorf("look for a subscriber of %s: %w", subject, err)
	}
	answer, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		return false, fmt.Errorf("look for a subscriber of %s: NATS does not say: %w", subject, err)
	}
	var trace server.MsgTraceEvent
	if err := json.Unmarshal(answer.Data, &trace); err != nil {
		return false, fmt.Errorf("look for a subscriber of %s: read the trace: %w", subject, err)
	}
	return len(trace.Egresses()) > 0, nil
}
