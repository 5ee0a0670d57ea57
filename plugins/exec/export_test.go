package exec

import "time"

// StopSoon has a program that is stopped end in less time than the product gives it, and one
// that does not read taken for that.
func StopSoon() { termAfter, killAfter, readWithin = 2*time.Second, 4*time.Second, 2*time.Second }
