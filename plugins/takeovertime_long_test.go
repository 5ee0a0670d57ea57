//go:build long

package plugins_test

import (
	"testing"
	"time"

	"agenthost/bus/bustest"
)

// Of two hosts one is connected. It dies, and the other is connected within ten seconds
// and delivers all replies, whatever the time since the owner's last question and the
// other's last look. The clock is fake: it counts the waits of the product and a login of
// two seconds, and not the machine.
func TestTakeoverTime(t *testing.T) {
	const within = 10 * time.Second
	deaths := map[string]func(*member){
		"process dies":    func(m *member) { m.bus.NC.Close() },
		"machine is lost": func(m *member) { m.line.cut.Store(true) }, // NATS does not hear of it
	}
	backlogs := map[string]struct{ underWay, waiting int }{
		"no replies":        {},
		"replies wait":      {waiting: 5},
		"replies under way": {underWay: 3, waiting: 5},
	}
	for how, die := range deaths {
		for what, backlog := range backlogs {
			t.Run(how+", "+what, func(t *testing.T) {
				longest := time.Duration(0)
				for started := range 3 { // in a period of looks
					for died := range 4 { // in a period of questions
						bustest.Bubble(t, func(t *testing.T) {
							f := newFleet(t, time.Duration(started)*500*time.Millisecond)
							time.Sleep(time.Minute + time.Duration(died)*500*time.Millisecond)
							f.leaveUnderWay(backlog.underWay)
							longest = max(longest, f.takeover(die, backlog.underWay, backlog.waiting))
						})
					}
				}
				if longest > within {
					t.Errorf("the other host is connected %s after the death, want %s at most", longest, within)
				}
				t.Logf("connected within %s", longest)
			})
		}
	}
}
