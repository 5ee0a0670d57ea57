//go:build long

package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
)

// A host that is killed over and over answers every message, in order.
func TestChannelsOutliveKills(t *testing.T) {
	t.Parallel()
	for name, open := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const each = 4
			d := dialog{T: t, platform: open(t)}
			dir := configured(t, d.config(name, ""))
			h := startHostIn(t, dir, nil).connected(t)
			for range kills() {
				d.say(each)
				d.answered(len(d.want) - each/2)
				h.kill()
				d.say(1) // while no host runs
				h = startHostIn(t, dir, nil)
			}
			d.audit(kills())
		})
	}
}

// Of two hosts on one NATS one is connected; the other is soon after the first is killed.
func TestOtherHostTakesTheAccount(t *testing.T) {
	t.Parallel()
	for name, open := range platforms {
		if name != "telegram" && !long() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := bustest.Server(t)
			d := dialog{T: t, platform: open(t)}
			config := d.config(name, fmt.Sprintf("{url: %q}", url))
			owner := startHostIn(t, configured(t, config), nil, "--name", "kiwi").connected(t)
			other := startHostIn(t, configured(t, config), nil, "--name", "plum")
			other.until(t, "ready")
			d.say(8)
			d.answered(4)
			for _, line := range other.logged() {
				if strings.Contains(fmt.Sprint(line["message"]), "connected to the platform") {
					t.Errorf("both hosts are connected: %v", line)
				}
			}
			killed := time.Now()
			owner.kill()
			d.say(2)
			other.connected(t)
			took := time.Since(killed).Round(10 * time.Millisecond)
			if took > mostTakeover {
				t.Errorf("the other host is connected %s after the kill, want %s at most", took, mostTakeover)
			}
			t.Logf("the other host is connected %s after the kill", took)
			d.audit(1)
		})
	}
}
