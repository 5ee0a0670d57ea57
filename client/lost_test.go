package client

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"agenthost/bus"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
)

// Who waits for a reply on a connection that was closed, say as its user was removed, waits
// for nothing: it is told so.
func TestWaitEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	c := waitsFor(t, Waiting{})
	conv := c.Conversation("ana", Party{})
	if err := conv.Listen(true); err != nil {
		t.Fatal(err)
	}
	defer conv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	m := NewMessage("hi")
	if _, err := conv.Send(ctx, m); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := conv.Wait(ctx, m, nil)
		ended <- err
	}()
	c.nc.Close()
	if err := <-ended; !errors.Is(err, nats.ErrConnectionClosed) {
		t.Errorf("got %v, want %v", err, nats.ErrConnectionClosed)
	}
}

// What comes while the reader is busy for long, as a terminal that is stopped, may be more than
// is held. The reply is not among what is lost: the agent is asked again.
func TestReplyAfterMoreThanIsHeld(t *testing.T) {
	t.Parallel()
	c := waitsFor(t, Waiting{})
	conv := c.Conversation("ana", Party{})
	if err := conv.Listen(true); err != nil {
		t.Fatal(err)
	}
	defer conv.Close()
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Within)
	defer cancel()
	m := NewMessage("hi")
	if _, err := conv.Send(ctx, m); err != nil {
		t.Fatal(err)
	}
	for i := range receivedSize + 10 {
		_ = c.nc.Publish(conv.follower.subject, fmt.Appendf(nil, `{"run":"r","offset":%d,"text":"a","in_reply_to":%q}`, i, m.ID))
	}
	reply := fmt.Appendf(nil, `{"kind":"result","correlation_id":"c","in_reply_to":%q,"text":"hello"}`, m.ID)
	if err := errors.Join(c.nc.Publish(conv.inbox, reply), c.nc.Flush()); err != nil {
		t.Fatal(err)
	}
	again, err := c.nc.SubscribeSync(bus.RoutePrefix + "ana")
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "all to be held or lost", func() bool { return len(conv.received) == receivedSize })
	go func() { // the agent, which knows the message
		if _, err := again.NextMsgWithContext(ctx); err == nil {
			_ = c.nc.Publish(conv.inbox, reply)
		}
	}()
	r, err := conv.Wait(ctx, m, nil)
	if err != nil || r.Text != "hello" {
		t.Errorf("got %q, %v", r.Text, err)
	}
}
