//go:build long

package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/internal/waittest"
)

// Former partitions that have done what they were given take no place in the fleet: no host counts
// them among its lanes or shows them, also one that starts later. When there are more again, they count.
func TestFormerPartitionsAreNotPlaced(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hot(4))
	second := w.beside("second", hot(4))
	presence, err := w.bus.NC.SubscribeSync("agenthost.hosts.presence")
	if err != nil {
		t.Fatal(err)
	}
	said := 0
	talk := func() {
		t.Helper()
		check := w.listening(12, 1)
		for p := range 12 {
			w.say("ana", bus.Inbound{ID: fmt.Sprintf("m%d-%d", said, p), From: fmt.Sprint("p", p), Text: "0"})
		}
		said++
		check()
	}
	// placed is how many partitions each host has in the placement.
	placed := func() map[string]int {
		t.Helper()
		hosts := map[string]int{}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		for len(hosts) < 2 {
			msg, err := presence.NextMsgWithContext(ctx)
			if err != nil {
				t.Fatal(err)
			}
			var host struct {
				ID    string `json:"id"`
				Lanes []int  `json:"lanes"`
			}
			if err := json.Unmarshal(msg.Data, &host); err != nil {
				t.Fatal(err)
			}
			hosts[host.ID] = 0
			for _, lane := range host.Lanes {
				if lane >= 1<<20 {
					hosts[host.ID]++
				}
			}
		}
		return hosts
	}
	has := func(n int) {
		t.Helper()
		waittest.Until(t, fmt.Sprint("each host places ", n), func() bool {
			for _, placed := range placed() {
				if placed != n {
					return false
				}
			}
			return true
		})
		for _, p := range append(w.fleet.Partitions(), second.fleet.Partitions()...) {
			if p.Partition >= n {
				t.Errorf("of %d partitions %d is shown", n, p.Partition)
			}
		}
	}
	talk()
	has(4)
	for _, n := range []int{1, 4, 0, 3, 1} {
		w.divide(n)
		second.divide(n)
		talk()
		has(n)
	}
	second.stop()
	second.start(hot(1))
	talk()
	has(1)
}

// NATS may lose acknowledgements with a file. What then comes again to a partition that there was
// two changes ago is acknowledged, also by a host that starts later, and nothing is answered twice.
func TestFormerPartitionIsServedAfterAStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hot(3))
	check := w.listening(12, 1)
	w.write(12, 0, 1)
	check()
	for _, n := range []int{2, 1} {
		w.divide(n)
		waittest.Until(t, fmt.Sprint("there are ", n), func() bool { l := w.layoutOf("ana"); return l.Settled && l.Partitions == n })
	}
	w.stop()
	stream, err := w.bus.JS.Stream(t.Context(), bus.RoutesStream)
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := stream.Consumer(t.Context(), "part-ana-2")
	if err != nil {
		t.Fatal(err)
	}
	cfg := consumer.CachedInfo().Config
	if err := stream.DeleteConsumer(t.Context(), cfg.Name); err != nil {
		t.Fatal(err)
	}
	if consumer, err = stream.CreateConsumer(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if consumer.CachedInfo().NumPending == 0 {
		t.Fatal("nothing comes again")
	}
	w.start(hot(1))
	waittest.Until(t, "all is acknowledged", func() bool {
		info, err := consumer.Info(t.Context())
		return err == nil && info.NumPending == 0 && info.NumAckPending == 0
	})
	w.say("ana", bus.Inbound{From: "p0", Text: "more"})
	w.expect("reply", "more")
	w.silent()
}
