//go:build unix && long

package chaos_test

import (
	"strings"
	"testing"
	"time"
)

func TestApprovalOutlivesItsHost(t *testing.T) {
	for name, standby := range map[string]bool{"to a standby": true, "to a host started later": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := askingPlan.open(t)
			b := startBilling(t, w.nc, 10*time.Millisecond)
			first, second := newHost(t, w.config, "a"), newHost(t, w.config, "b")
			first.start()
			await(t, "the first host", func() bool { return first.logged(`"ready"`) })
			w.askAll(t)
			if standby {
				second.start()
				await(t, "the other host", func() bool { return second.logged(`"ready"`) })
			}
			first.kill()
			if !standby {
				second.start()
			}
			answered := time.Now()
			told := w.answerAll(t)
			w.expectFinals(t)
			took := time.Since(answered)
			await(t, "word to all who were too late", told)
			y := reconcile(t, w.calls(), b.counted())
			if y.effects != len(answersOf) || y.interrupted != 0 {
				t.Errorf("%v; want one effect for each of %d people", y, len(answersOf))
			}
			t.Logf("%d answers to %d approvals of a dead host, all replies %v later: %v", len(strings.Join(answersOf, "")), len(answersOf), took.Round(time.Millisecond), y)
		})
	}
}
