package delivery_test

import (
	"testing"

	"agenthost/bus/bustest"
	"agenthost/bus/delivery"

	"github.com/google/go-cmp/cmp"
)

// A lane takes other subjects while it is at work: from then on, and without
// letting go of what it holds. What it took before, it goes on to take.
func TestLaneClaimsMore(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		bustest.Publish(t, js, web, "1")
		held := h.want("1")
		if err := h.Claim(t.Context(), []string{"plugin.inbound.tel", "plugin.inbound.tel.>"}); err != nil {
			t.Fatal(err)
		}
		bustest.Publish(t, js, "plugin.inbound.tel", "2")
		bustest.Publish(t, js, "plugin.inbound.tel.home", "3")
		bustest.Publish(t, js, web, "4")
		bustest.Publish(t, js, "plugin.inbound.mail", "5")
		each(h.want("2", "3", "4"), (*delivery.Delivery).Done)
		each(held, (*delivery.Delivery).Done)
		h.quiet(aWhile)
		if info := consumer(t, js); info.NumAckPending != 0 {
			t.Errorf("unacknowledged: %d", info.NumAckPending)
		}
		want := []string{"plugin.inbound.tel", "plugin.inbound.tel.>", web}
		if diff := cmp.Diff(want, consumer(t, js).Config.FilterSubjects); diff != "" {
			t.Errorf("filters: %s", diff)
		}
	})
}

// Claim waits for a NATS that is away.
func TestLaneClaimsThroughACut(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		ns := fleet(t)
		_, js := connect(t, ns)
		h := join(t, ns, "one")
		h.door.shut.Store(true)
		if err := h.nc.ForceReconnect(); err != nil {
			t.Fatal(err)
		}
		claimed := make(chan error, 1)
		go func() { claimed <- h.Claim(t.Context(), []string{web, "plugin.inbound.tel"}) }()
		h.quiet(aWhile)
		h.door.shut.Store(false)
		if err := <-claimed; err != nil {
			t.Fatal(err)
		}
		bustest.Publish(t, js, "plugin.inbound.tel", "1")
		each(h.want("1"), (*delivery.Delivery).Done)
		h.quiet(aWhile)
	})
}
