package client

import (
	"context"
	"errors"
	"testing"

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
