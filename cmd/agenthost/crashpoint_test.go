//go:build crashtest && interop

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/internal/waittest"
)

// crashPoints are those of channels: before and after each acknowledgement, towards the
// platform, of how far it is read, and of a reply; the first time and the third.
func crashPoints(t *testing.T) (points []string) {
	t.Helper()
	for _, file := range []string{"inbox.go", "delivery.go", "outbox.go"} {
		source, err := os.ReadFile("../../plugins/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`crash\.Point\("([^"]+)"\)`).FindAllSubmatch(source, -1) {
			points = append(points, string(found[1]), string(found[1])+":3")
		}
	}
	if len(points) < 16 {
		t.Fatalf("crash points: %q", points)
	}
	return points
}

// The host is killed at each crash point. The platforms are those on which the makers'
// clients work.
func TestInteropChannelCrashPoints(t *testing.T) {
	t.Parallel()
	for name, open := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crashEverywhere(t, name, open)
		})
	}
}

// The same on real servers: dovecot with OpenSMTPD, Synapse, ergo.
func TestInteropRealServerCrashPoints(t *testing.T) {
	t.Parallel()
	for name, start := range realServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			crashEverywhere(t, name, start(t))
		})
	}
}

func crashEverywhere(t *testing.T, channel string, open func(t *testing.T) platform) {
	t.Helper()
	for _, point := range crashPoints(t) {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			crashAt(t, dialog{T: t, platform: open(t)}, channel, point)
		})
	}
}

// crashAt kills the host at a crash point while it works off what was written while it was
// down.
func crashAt(t *testing.T, d dialog, channel, point string) {
	t.Helper()
	dir := configured(t, d.config(channel, ""))
	h := startHostIn(t, dir, nil).connected(t)
	d.say(1)
	d.answered(1)
	h.kill()
	d.say(2) // while no host runs
	h = startHostIn(t, dir, []string{"AGENTHOST_CRASH=" + point})
	d.say(2)
	if !h.dies(&d) {
		unreached(t, channel, point)
		return
	}
	startHostIn(t, dir, nil).connected(t)
	d.say(1)
	d.audit(2)
}

// unreached is for a crash point that a host has not come to.
func unreached(t *testing.T, channel, point string) {
	t.Helper()
	t.Logf("%s does not come to %s", channel, point)
	if name, _, _ := strings.Cut(point, ":"); !strings.HasSuffix(name, "-note") {
		t.Error("every channel comes there")
	}
}

// A server without a history forgets what it has brought to an account: a host that is
// killed before it has stored a message loses that one, and no other. A reply under way
// may come twice. How far it is read is not noted there.
func TestInteropIRCCrashPointsWithoutHistory(t *testing.T) {
	t.Parallel()
	open := ngircd(t)
	for _, point := range crashPoints(t) {
		if strings.Contains(point, "-note") {
			continue
		}
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d := dialog{T: t, platform: open(t)}
			dir := configured(t, d.config("irc", ""))
			h := startHostIn(t, dir, []string{"AGENTHOST_CRASH=" + point}).connected(t)
			if strings.HasSuffix(point, ":3") {
				for n := range 2 {
					d.say(1)
					d.answered(n + 1)
				}
			}
			d.say(1)
			waittest.For(t, "the crash", h.ended())
			startHostIn(t, dir, nil).connected(t)
			if strings.HasPrefix(point, "before-take") {
				d.want = d.want[:len(d.want)-1]
			}
			d.say(1)
			d.audit(1)
		})
	}
}

// dies waits until the host has come to its crash point. It is false when all is
// answered without.
func (s *started) dies(d *dialog) bool {
	d.Helper()
	dead, died := s.ended(), false
	bustest.Eventually(d, "a crash, or all replies", func() bool {
		select {
		case <-dead:
			died = true
		default:
		}
		return died || d.allAnswered()
	})
	return died
}

// ended is closed when the host has ended. Its log is read and dropped until then.
func (s *started) ended() <-chan struct{} {
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		for range s.lines {
		}
	}()
	return dead
}
