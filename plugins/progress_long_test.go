//go:build long

package plugins_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus/bustest"
	"agenthost/plugins"
	"agenthost/plugins/settings"
)

// What the platform has taken while NATS was away is known to the process that sent it,
// also when the note of it is late.
func TestTakenWhileNATSWasAway(t *testing.T) {
	t.Parallel()
	url, server := bustest.Server(t)
	platform := newMemory(withoutKeys())
	ch := newPosting(platform)
	h := startHost(t, connect(t, url), "host-1", ch, settings.Account{}).connected()
	send(t, h.bus, numbered("ana", 0, 1)...)
	<-ch.began
	refuseNotes(t, h.bus)
	server.Stop()
	close(ch.release)
	bustest.Eventually(t, "the platform has taken it", func() bool { return len(platform.messages("ana")) == 1 })
	h.state(plugins.StateNoNATS)
	server.Start()
	h.connected()
	bustest.Eventually(t, "the reply is settled, or sent again", func() bool {
		return len(platform.messages("ana")) > 1 || consumerInfo(t, h.bus).NumAckPending == 0 && h.courier.Status().Out == 1
	})
	if diff := cmp.Diff(wantTexts("ana", 1), platform.texts("ana")); diff != "" {
		t.Error(diff)
	}
}

// What was delivered is remembered for as long as the reply can come again, also where the
// platform itself forgets the key of a message sooner.
func TestDeliveredIsRememberedAsLongAsTheReply(t *testing.T) {
	for name, limits := range map[string]plugins.Limits{"no keys": withoutKeys(), "keys for a while": chatLimits()} {
		t.Run(name, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				b := connect(t, "")
				h := startHost(t, b, "host-1", newMemory(limits), settings.Account{}).connected()
				send(t, b, numbered("ana", 0, 1)...)
				settled(t, b)
				h.stop()
				time.Sleep(70 * time.Hour)
				platform := newMemory(limits) // it has forgotten all
				startHost(t, b, "host-1", platform, settings.Account{}).connected()
				send(t, b, numbered("ana", 0, 2)...) // the first as one whose acknowledgement NATS has lost
				settled(t, b)
				if diff := cmp.Diff(wantTexts("ana", 2)[1:], platform.texts("ana")); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}
