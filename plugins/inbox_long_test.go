//go:build long

package plugins_test

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

// A reply that was published while the connection was away is not missed.
func TestAskMissesNothing(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	b, other := connect(t, url), connect(t, url)
	h := newHost(t, b, "host-1", newMemory(chatLimits()), settings.Account{})
	came, err := other.NC.SubscribeSync(inbound)
	if err != nil {
		t.Fatal(err)
	}
	if err := other.NC.Flush(); err != nil {
		t.Fatal(err)
	}
	var away atomic.Bool
	b.NC.Opts.CustomDialer = dialer(func(network, address string) (net.Conn, error) {
		if away.Load() {
			return nil, errors.New("away")
		}
		return net.Dial(network, address)
	})
	type asked struct {
		out bus.Outbound
		err error
	}
	answered := make(chan asked, 1)
	go func() {
		out, err := h.courier.Inbox().Ask(bustest.Context(t), plugins.Received{ID: "m", From: "ana", Text: "hi"})
		answered <- asked{out, err}
	}()
	if _, err := came.NextMsgWithContext(bustest.Context(t)); err != nil {
		t.Fatal(err)
	}
	away.Store(true)
	if err := b.NC.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	bustest.Eventually(t, "the connection is away", func() bool { return !b.NC.IsConnected() })
	final := reply("r.1", "ana", "the answer")
	final.InReplyTo = "m"
	send(t, other, final)
	away.Store(false)
	if got := <-answered; got.err != nil || got.out.Text != "the answer" {
		t.Errorf("got %+v, %v", got.out, got.err)
	}
}
