//go:build long

package agentprotocol_test

import (
	"testing"
	"time"

	"agenthost/bus/bustest"
)

// 9: heartbeats come at once and again, on the subject that all know.
func TestHeartbeats(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	sub, err := c.nc.SubscribeSync("agents.hb.*.*.*")
	if err != nil {
		t.Fatal(err)
	}
	serve(t, h, 50*time.Millisecond)
	for range 3 {
		msg, err := sub.NextMsgWithContext(bustest.Context(t))
		if err != nil {
			t.Fatal(err)
		}
		if msg.Subject != "agents.hb.agenthost.test.ana" {
			t.Errorf("got %s", msg.Subject)
		}
		wantBeat(c, msg.Data, c.agent("test", "ana").ID, 1)
	}
}

// A turn that takes long says that it goes on.
func TestAcknowledgesAgain(t *testing.T) {
	t.Parallel()
	h, c := start(t, "")
	serve(t, h, 50*time.Millisecond)
	a := c.prompt("agents.prompt.agenthost.test.ana", "endless")
	for range 3 {
		if f := a.next(); f.Type != "status" || f.text() != "ack" {
			t.Errorf("got %+v", f)
		}
	}
}
