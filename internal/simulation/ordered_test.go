//go:build ordered

package simulation_test

import (
	"testing"

	"agenthost/internal/simulation"
)

// A seed has one trace, byte for byte.
func TestSameSeedSameTrace(t *testing.T) {
	defer simulation.Alone()()
	for seed := uint64(1); seed <= 20; seed++ {
		p := simulation.NewPlan(seed)
		first := simulate(t, p, nil)
		for range 99 {
			if r := simulate(t, p, nil); r.Trace != first.Trace || r.Steps != first.Steps {
				t.Errorf("seed %d has the traces %x and %x, of %d and %d steps", seed, first.Trace, r.Trace, first.Steps, r.Steps)
				break
			}
		}
	}
}
