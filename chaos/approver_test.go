//go:build unix && long

package chaos_test

import (
	"encoding/json"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
)

func TestApprovalsOfKilledHosts(t *testing.T) {
	t.Parallel()
	rng := newRand(t)
	p := askingPlan
	p.scripts = map[string]string{"main": `rules:
  - {after_tool: "*", text: "${text}"}
  - {tool_calls: [{name: bill.pay, args: {what: "${text}"}}]}
`}
	w := p.open(t)
	b := startBilling(t, w.nc, 100*time.Millisecond)
	approved := w.approveAll(t)
	h := newHost(t, w.config, "a")
	h.start()
	said := w.begin(talk{channel: chat, people: pick(15, 50), each: pick(3, 10), every: pick(time.Second, 3*time.Second)})
	kills := breakUntil(said, rng, 100*time.Millisecond, 1500*time.Millisecond, func() {
		w.rest()
		seen := approved.Load()
		until(said, func() bool { return approved.Load() > seen })
		h.kill()
		h.start()
	})
	await(t, "an answer to every message", w.allAnswered)
	await(t, "an acknowledgement of every message", w.allAcknowledged)
	await(t, "all logs", func() bool { return w.sessions.wind() == nil })
	replies := w.heard(bus.KindReply)
	for id, s := range w.said {
		if got := replies[id]; len(got) != 1 || got[0].Text != s.text || !got[0].Final {
			t.Errorf("message %s is answered %+v", id, got)
		}
	}
	for id, errs := range w.heard(bus.KindError) {
		t.Errorf("message %s is refused: %+v", id, errs)
	}
	y := reconcile(t, w.calls(), b.counted())
	t.Logf("host killed %d times, %d approvals: %v; %d messages", kills, approved.Load(), y, len(w.said))
}

// approveAll has everybody approve at once whatever they are asked, once. It
// returns how often they have.
func (w *world) approveAll(t testing.TB) *atomic.Int64 {
	t.Helper()
	var count atomic.Int64
	sub, err := w.nc.Subscribe(bus.OutboundPrefix+chat, func(msg *nats.Msg) {
		out := bus.Outbound{}
		if json.Unmarshal(msg.Data, &out) != nil || out.Kind != bus.KindApproval {
			return
		}
		count.Add(1)
		data, _ := json.Marshal(bus.Inbound{ID: "yes-" + out.Call, From: out.To, Text: "approve", Answers: out.Call}) // always marshals
		yes := nats.NewMsg(bus.InboundPrefix + chat)
		yes.Data = data
		yes.Header.Set(nats.MsgIdHdr, "yes-"+out.Call)
		if err := w.publish(yes); err != nil {
			t.Errorf("approve %s: %v", out.Call, err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sub.Unsubscribe() })
	return &count
}
