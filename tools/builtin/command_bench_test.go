//go:build unix

package builtin_test

import (
	"testing"

	"agenthost/tools/builtin"
)

func BenchmarkRunCommand(b *testing.B) {
	bench := open(b, builtin.Options{})
	for b.Loop() {
		bench.text(b, "run_command", `{"command":"true"}`)
	}
}
