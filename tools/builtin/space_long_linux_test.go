//go:build long

package builtin_test

import (
	"strings"
	"testing"
)

// Commands that fill the disk, in each way they know.
func TestCommandsThatFillTheWorkspace(t *testing.T) {
	tests := map[string]string{
		"one file":         "head -c 100000000 /dev/zero > big",
		"many files":       "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > f$i; done",
		"empty files":      "mkdir d; i=0; while :; do i=$((i+1)); : > d/$i; done",
		"temporary files":  "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > $TMPDIR/f$i; done",
		"in the shade":     "mkdir d; cd d; chmod 0300 .; i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > f$i; done",
		"in another group": "setsid sh -c 'i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > f$i; done'",
	}
	for name, command := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, small)
			result, err := b.call(t, "run_command", quoted(t, map[string]string{"command": command}))
			if err != nil {
				t.Fatal(err)
			}
			if !result.Failed || !strings.Contains(result.Text, fullWorkspace) {
				t.Errorf("got %q, failed %v", result.Text, result.Failed)
			}
			b.text(t, "run_command", `{"command":"chmod -R u+rwx .; rm -rf ./*"}`)
			b.text(t, "run_command", `{"command":"head -c 3000000 /dev/zero > again"}`)
		})
	}
}
