package main

import (
	"fmt"
	"os"
	"slices"
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

// mostTakeover is twice the ten seconds that are promised, as the clock here measures a
// busy machine too. plugins.TestTakeoverTime keeps to the ten, on a fake clock.
const mostTakeover = 20 * time.Second

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
