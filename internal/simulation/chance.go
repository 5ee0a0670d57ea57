//go:build !ordered

package simulation

// Ordered reports whether all chance in a simulation follows from its seed: also that of
// the Go runtime, which decides between cases of a select and timers of the same time.
const Ordered = false

func seedChance(uint64) {}
