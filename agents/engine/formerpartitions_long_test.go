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
