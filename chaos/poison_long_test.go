//go:build unix && long

package chaos_test

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A message that kills its host each time becomes a dead letter after five failures. All
// other messages are answered.
func TestPoison(t *testing.T) {
	for name, open := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := startModel(t, 0)
			w := open(t, m.url)
			h := newHost(t, w.config, "a")
			m.hear = func(ctx context.Context, text string) {
				if strings.Contains(text, "poison") {
					_ = syscall.Kill(int(h.pid.Load()), syscall.SIGKILL)
					<-ctx.Done() // the host is dead
				}
			}
			h.start()
			said := w.begin(load(10, 10, pick(2*time.Second, 5*time.Second))...)
			if !w.say(statement{channel: chat, from: "eve", text: "poison", fatal: true}) {
				t.FailNow()
			}
			killed := 0
			await(t, "an answer to every message", func() bool {
				if isClosed(h.exited) {
					h.start()
					killed++
				}
				return isClosed(said) && w.allAnswered()
			})
			w.hold(talk{channel: chat, people: 10, each: 1, from: 10})
			w.audit()
			if killed != 5 {
				t.Errorf("the poison killed %d hosts, want 5", killed)
			}
			t.Logf("%d hosts killed, one dead letter: %s", killed, w.summary())
		})
	}
}
