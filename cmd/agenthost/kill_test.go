package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus/bustest"
)

// A dialog is what the person writes to the account, one message after the other.
type dialog struct {
	*testing.T
	platform
	want []string
}

func (d *dialog) say(n int) {
	for range n {
		d.want = append(d.want, fmt.Sprintf("m%02d", len(d.want)+1))
		d.write(d.want[len(d.want)-1])
	}
}

func (d *dialog) answered(n int) {
	d.Helper()
	bustest.Eventually(d, fmt.Sprintf("%d replies", n), func() bool { return len(d.numbers()) >= n })
}

// audit waits for the last reply: none is missing and all are in order. Where the
// platform shows a message twice that was sent twice, it may have one twice a kill.
func (d *dialog) audit(kills int) {
	d.Helper()
	defer func() {
		if d.Failed() {
			d.Logf("the account has sent: %q", d.texts())
			if d.talk != nil {
				d.Logf("the person sees:\n%s", d.talk())
			}
		}
	}()
	bustest.Eventually(d, "all replies", d.allAnswered)
	got := d.numbers()
	if d.unsorted {
		slices.Sort(got)
	}
	once := slices.Compact(slices.Clone(got))
	if twice := len(got) - len(once); twice > kills || twice > 0 && d.once {
		d.Errorf("%d replies came twice after %d kills: %q", twice, kills, got)
	}
	if !slices.Equal(once, d.want) {
		d.Errorf("got %q, want %q", got, d.want)
	}
	if d.sent == nil {
		return
	}
	if more := d.sent() - len(d.want); more > kills {
		d.Errorf("%d replies were sent twice after %d kills", more, kills)
	}
}

// allAnswered reports whether each message has a reply.
func (d *dialog) allAnswered() bool {
	got := d.numbers()
	return !slices.ContainsFunc(d.want, func(one string) bool { return !slices.Contains(got, one) })
}

// connected waits until the host is logged in: before its first time most channels
// do not look.
func (s *started) connected(t *testing.T) *started {
	t.Helper()
	s.until(t, "connected to the platform")
	return s
}

// long reports whether the tests may take minutes, as in .ci/run.
func long() bool { return os.Getenv("AGENTHOST_CHAOS") == "1" }

// kills is how often a host is killed.
func kills() int {
	if long() {
		return 6
	}
	return 1
}

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

// mostTakeover is twice the ten seconds that are promised, as the clock here measures a
// busy machine too. plugins.TestTakeoverTime keeps to the ten, on a fake clock.
const mostTakeover = 20 * time.Second

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

// logged are the lines that were not read yet.
func (s *started) logged() (lines []map[string]any) {
	for {
		select {
		case line := <-s.lines:
			lines = append(lines, line)
		default:
			return lines
		}
	}
}
