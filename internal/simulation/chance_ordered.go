//go:build ordered

package simulation

import _ "unsafe" // to reach the runtime

// Ordered reports whether all chance in a simulation follows from its seed: also that of
// the Go runtime, which decides between cases of a select and timers of the same time.
const Ordered = true

// simulatedChance is of the runtime that the overlay makes.
//
//go:linkname simulatedChance runtime.SimulatedChance
var simulatedChance [2]uint64

// seedChance sets where the runtime's chance is.
func seedChance(seed uint64) {
	simulatedChance[0], simulatedChance[1] = 2*seed+1, 2*seed+1<<40+1
}
