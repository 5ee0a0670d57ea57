//go:build long

package host_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/host"
	"agenthost/host/hosttest"
	"agenthost/internal/waittest"
)

// TestHostsShareABudget has an agent's messages come by lanes that different
// hosts may serve.
func TestHostsShareABudget(t *testing.T) {
	t.Parallel()
	s := newTill(t)
	cfg := s.config(t)
	idle := neighbour(cfg)
	port := "127.0.0.1:0"
	cfg.NATS.Embedded.Listen, cfg.NATS.Embedded.Anonymous = &port, bus.AnonymousAll
	first, _ := startNamed(t, cfg, "first")
	second := *s.config(t)
	neighbour(&second)
	second.NATS.URL = first.URL()
	_, leave := startOptions(t, host.Options{Config: &second, Name: "second", Weight: 1000, Log: hosttest.Log(t)})
	nc := first.Bus().NC
	serveAt(t, nc, idle, "second")
	results := make(chan *nats.Msg, 200)
	for _, subject := range []string{"plugin.outbound.>", "results"} {
		if _, err := nc.ChanSubscribe(subject, results); err != nil {
			t.Fatal(err)
		}
	}
	speak := func(from, to int) (replies []bus.Outbound) {
		for i := from; i < to; i++ {
			publish(t, nc, "plugin.inbound.demo", bus.Inbound{From: fmt.Sprint("user", i), Text: "hi"})
			publish(t, nc, bus.RoutePrefix+cfg.Agents[0].ID, bus.Route{
				ID: fmt.Sprint("task", i), Kind: bus.RouteDelegate, From: "test", CorrelationID: fmt.Sprint(i), Text: "hi", ReplyTo: "results",
			})
		}
		for range 2 * (to - from) {
			select {
			case m := <-results:
				r := bus.Outbound{} // a result has the fields that count, too
				if err := json.Unmarshal(m.Data, &r); err != nil {
					t.Fatal(err)
				}
				replies = append(replies, r)
			case <-time.After(waittest.Within):
				t.Fatalf("got %d results", len(replies))
			}
		}
		return replies
	}
	replies := speak(0, 20) // by the second host
	leave()
	replies = append(replies, speak(20, 50)...) // by the first
	answered, refused := outcomes(t, replies)
	if answered != 50 || refused != 50 || s.calls.Load() != 50 {
		t.Errorf("%d answered, %d refused, %d calls; want 50 of each", answered, refused, s.calls.Load())
	}
	kv, err := first.Bus().JS.KeyValue(t.Context(), bus.SpendBucket)
	if err != nil {
		t.Fatal(err)
	}
	entry, err := kv.Get(t.Context(), cfg.Agents[0].ID+"."+time.Now().UTC().Format(time.DateOnly))
	if err != nil {
		t.Fatal(err)
	}
	spend := agents.Spend{}
	if err := json.Unmarshal(entry.Value(), &spend); err != nil {
		t.Fatal(err)
	}
	if spend.Spent != 50*cent || len(spend.Hosts) != 2 {
		t.Errorf("the record says %s, want 50 cents by two hosts", entry.Value())
	}
}
