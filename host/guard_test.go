package host_test

import (
	"encoding/json"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/bus/signing"
	"agenthost/internal/control"

	"github.com/nats-io/nats.go"
)

// The host answers no request where its answer would be its own word, also not who
// looks for services, and takes no message for a request that wants no answer.
func TestRequestsWithTheHostsVoice(t *testing.T) {
	t.Parallel()
	h, _ := start(t, withTools(t))
	nc := h.Bus().NC
	w := asked(t, h, "write")
	answer, err := json.Marshal(control.Answer{ID: w.ID, Text: "approve"})
	if err != nil {
		t.Fatal(err)
	}
	for _, reply := range []string{"", "agent.route.demo", "plugin.inbound.demo", "plugin.outbound.demo", "agenthost.reload", "agent.events.demo.x", "$JS.API.STREAM.PURGE.AGENT_DEAD"} {
		var heard *nats.Subscription
		if reply != "" {
			if heard, err = nc.SubscribeSync(reply); err != nil {
				t.Fatal(err)
			}
		}
		for subject, data := range map[string][]byte{
			control.ApproveSubject: answer, control.StatusSubject: nil, "agenthost.sessions.ls": nil, "agenthost.reload": nil,
			"$SRV.PING": nil, "$SRV.INFO.agenthost": nil, "$SRV.STATS": nil,
		} {
			if subject == reply {
				continue
			}
			if err := nc.PublishMsg(&nats.Msg{Subject: subject, Reply: reply, Data: data}); err != nil {
				t.Fatal(err)
			}
		}
		knock(t, nc, control.StatusSubject, "") // by now those before were looked at
		knock(t, nc, "agenthost.sessions.ls", "")
		for _, subject := range []string{"$SRV.PING", "$SRV.INFO.agenthost", "$SRV.STATS"} {
			knock(t, nc, subject, "")
		}
		if heard == nil {
			continue
		}
		if n, _, err := heard.Pending(); n > 0 || err != nil {
			t.Errorf("on %s is published %d times, %v", reply, n, err)
		}
		_ = heard.Unsubscribe()
	}
	if list, err := control.AllWaiting(t.Context(), h.Bus().JS); err != nil || len(list) != 1 || list[0].ID != w.ID {
		t.Errorf("waiting: %+v, %v", list, err)
	}
}

// A dead letter that is sent again counts for what it was: signed, or not.
func TestRetryOfARouteMessage(t *testing.T) {
	t.Parallel()
	h, _ := start(t, withTools(t))
	b := h.Bus()
	signer, err := signing.Read(t.Context(), b.JS)
	if err != nil {
		t.Fatal(err)
	}
	grave, err := control.OpenDeadLetters(t.Context(), b.JS)
	if err != nil {
		t.Fatal(err)
	}
	for name, signed := range map[string]bool{"signed": true, "unsigned": false} {
		msg, err := bus.NewMessage("agent.route.demo", bus.Route{ID: name, Kind: bus.RouteEvent, Text: "hello"})
		if err != nil {
			t.Fatal(err)
		}
		if signed {
			signer.Sign(msg)
		}
		letter := control.DeadLetter{DeadLetter: bus.DeadLetter{ID: name, Agent: "demo", Subject: msg.Subject, Attempts: 5, At: time.Now(), Header: msg.Header}}
		letter.SetPayload(msg.Data, 1<<20)
		sent, err := letter.Message()
		if err != nil {
			t.Fatal(err)
		}
		ack, err := b.JS.PublishMsg(t.Context(), sent)
		if err != nil {
			t.Fatal(err)
		}
		letter.DeadSeq = ack.Sequence
		retried, err := grave.Retry(t.Context(), letter)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := records.NewReader(b.JS).Get(t.Context(), bus.RoutesStream, retried.Seq)
		if err != nil || signer.Verify(rec.Subject, rec.Header, rec.Data) != signed {
			t.Errorf("%s: %s %v, %v", name, rec.Data, rec.Header, err)
		}
	}
}
