package host_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats.go"
)

func TestEverySessionInOrder(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	const sessions, each = 50, 40
	out := outbound(t, h.Bus().NC, sessions*each)
	for i := range each {
		for s := range sessions {
			publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{
				ID: fmt.Sprintf("%d-%d", s, i), From: fmt.Sprintf("user%d", s), Text: fmt.Sprint(i),
			})
		}
	}
	replies := out()
	last := map[string]int{}
	for _, r := range replies {
		n := 0
		fmt.Sscan(r.Text, &n)
		if want := last[r.To]; n != want {
			t.Fatalf("%s got reply %d, want %d", r.To, n, want)
		}
		last[r.To]++
	}
}

func publish(t testing.TB, nc *nats.Conn, subject string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := nc.Publish(subject, data); err != nil {
		t.Fatal(err)
	}
}

// outbound subscribes and returns a function that waits for n messages.
func outbound(t testing.TB, nc *nats.Conn, n int) func() []bus.Outbound {
	t.Helper()
	msgs := make(chan *nats.Msg, n+100)
	sub, err := nc.ChanSubscribe("plugin.outbound.>", msgs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() })
	return func() []bus.Outbound {
		t.Helper()
		var list []bus.Outbound
		for len(list) < n {
			select {
			case m := <-msgs:
				out := bus.Outbound{}
				if err := json.Unmarshal(m.Data, &out); err != nil {
					t.Fatal(err)
				}
				list = append(list, out)
			case <-time.After(waittest.Within):
				t.Fatalf("got %d messages of %d", len(list), n)
			}
		}
		return list
	}
}
