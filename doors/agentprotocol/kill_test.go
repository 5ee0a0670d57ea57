//go:build long

package agentprotocol_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/doors/doorstest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Many prompts at once, the host killed in the middle: who sends a prompt again with the
// same id gets the one answer of the one run.
func TestHostKilledUnderPrompts(t *testing.T) {
	t.Parallel()
	n := doorstest.Many()
	p := doorstest.StartProcess(t)
	p.Ready()
	nc, err := nats.Connect("nats://"+p.NATS, nats.MaxReconnects(-1), nats.ReconnectWait(100*time.Millisecond), nats.ReconnectBufSize(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx := doorstest.Context(t)
	answers := make([]string, n)
	var callers sync.WaitGroup
	for i := range n {
		callers.Go(func() { answers[i] = insist(ctx, nc, i) })
	}
	bustest.Eventually(t, "some are at the model", func() bool { all, _ := p.Model.Asked(); return all > n/3 })
	p.Kill()
	p.Start()
	callers.Wait()
	for i, got := range answers {
		if want := fmt.Sprintf("said text %d", i); got != want {
			t.Errorf("prompt %d: got %q, want %q", i, got, want)
		}
	}
	p.OneRunEach(n)
}

// insist sends a prompt until it is answered to the end.
func insist(ctx context.Context, nc *nats.Conn, i int) string {
	for ctx.Err() == nil {
		if text, ok := try(ctx, nc, i); ok {
			return text
		}
		select {
		case <-time.After(100 * time.Millisecond): // as a caller does
		case <-ctx.Done():
		}
	}
	return ""
}

// try sends a prompt, and gives up after some seconds without a chunk.
func try(ctx context.Context, nc *nats.Conn, i int) (text string, ok bool) {
	msg := &nats.Msg{Subject: promptSubject, Reply: nc.NewInbox(), Data: fmt.Appendf(nil, "text %d", i), Header: nats.Header{}}
	msg.Header.Set(nats.MsgIdHdr, fmt.Sprintf("prompt-%d", i))
	sub, err := nc.SubscribeSync(msg.Reply)
	if err != nil {
		return "", false
	}
	defer func() { _ = sub.Unsubscribe() }()
	if nc.PublishMsg(msg) != nil {
		return "", false
	}
	var frames []frame
	for {
		within, cancel := context.WithTimeout(ctx, 5*time.Second)
		got, err := sub.NextMsgWithContext(within)
		cancel()
		switch {
		case err != nil, got.Header.Get(micro.ErrorCodeHeader) != "", got.Header.Get("Status") != "":
			return "", false
		case len(got.Data) == 0:
			return said(frames), true
		}
		frames = append(frames, decode(got.Data))
	}
}
