//go:build unix && long

package builtin_test

import (
	"testing"

	"agenthost/tools/builtin"
)

func TestTimeout(t *testing.T) {
	b := open(t, builtin.Options{})
	for name, command := range map[string]string{
		"sleeps":           "echo begun; sleep 600",
		"ignores TERM":     "trap '' TERM; echo begun; while :; do sleep 600; done",
		"in a pipe":        "echo begun; sleep 600 | sleep 600",
		"left the group":   "echo begun; setsid sh -c 'trap \"\" TERM; sleep 600' & sleep 600",
		"child holds on":   "echo begun; (trap '' TERM; sleep 600) & trap 'exit 0' TERM; wait",
		"of nobody at all": "echo begun; (setsid setsid sleep 600 &) ; sleep 600",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := b.call(t, "run_command", quoted(t, map[string]string{"command": command, "timeout": "5s"}))
			if want := "begun\n[stopped: not done within 5s]"; err != nil || result.Text != want || !result.Failed {
				t.Errorf("got %q, failed %v, error %v, want %q", result.Text, result.Failed, err, want)
			}
		})
	}
}
