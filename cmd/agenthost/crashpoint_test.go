//go:build crashtest && interop

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"agenthost/bus/bustest"
)

// The host is killed before and after each acknowledgement: towards the platform, of
// how far it is read, and of a reply.
func TestInteropChannelCrashPoints(t *testing.T) {
	t.Parallel()
	points := []string{}
	for _, file := range []string{"inbox.go", "delivery.go", "outbox.go"} {
		source, err := os.ReadFile("../../plugins/" + file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`crash\.Point\("([^"]+)"\)`).FindAllSubmatch(source, -1) {
			points = append(points, string(found[1]))
		}
	}
	if len(points) < 8 {
		t.Fatalf("crash points: %q", points)
	}
	for name, open := range platforms {
		for _, point := range points {
			for _, nth := range []string{"", ":3"} {
				t.Run(name+"/"+point+nth, func(t *testing.T) {
					t.Parallel()
					d := dialog{T: t, platform: open(t)}
					dir := configured(t, d.config(name, ""))
					h := startHostIn(t, dir, nil).connected(t)
					d.say(1)
					d.answered(1)
					h.kill()
					d.say(2) // while no host runs
					h = startHostIn(t, dir, []string{"AGENTHOST_CRASH=" + point + nth})
					d.say(2)
					if !h.dies(&d) {
						t.Logf("%s does not come to %s%s", name, point, nth)
						if !strings.HasSuffix(point, "-note") {
							t.Error("every channel comes there")
						}
						return
					}
					startHostIn(t, dir, nil).connected(t)
					d.say(1)
					d.audit(2)
				})
			}
		}
	}
}

// dies waits until the host has come to its crash point. It is false when all is
// answered without.
func (s *started) dies(d *dialog) bool {
	d.Helper()
	dead := make(chan struct{})
	go func() {
		defer close(dead)
		for range s.lines {
		}
	}()
	died := false
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
