package doctor

import (
	"context"
	"testing"

	"agenthost/bus/bustest"
)

func TestHasSubscriber(t *testing.T) {
	t.Parallel()
	nc := bustest.Open(t).NC
	answered := func(subject string) bool {
		t.Helper()
		got, err := hasSubscriber(t.Context(), nc, subject)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if answered("acme.audit") {
		t.Error("without a subscriber: got true")
	}
	single, err := nc.SubscribeSync("acme.audit")
	if err != nil {
		t.Fatal(err)
	}
	queue, err := nc.QueueSubscribeSync("shop.*", "q")
	if err != nil {
		t.Fatal(err)
	}
	for _, subject := range []string{"acme.audit", "shop.audit"} {
		if !answered(subject) {
			t.Errorf("%s with a subscriber: got false", subject)
		}
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	for name, sub := range map[string]interface{ Pending() (int, int, error) }{"single": single, "queue": queue} {
		if n, _, err := sub.Pending(); n != 0 || err != nil {
			t.Errorf("%s: %d messages were delivered, %v", name, n, err)
		}
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := hasSubscriber(over, nc, "acme.audit"); err == nil {
		t.Error("without time: got no error")
	}
	nc.Close()
	if _, err := hasSubscriber(t.Context(), nc, "acme.audit"); err == nil {
		t.Error("without a connection: got no error")
	}
}
