package exec

import "time"

// StopSoon has a program that is stopped end in less time than the product gives it.
func StopSoon() { termAfter, killAfter = 2*time.Second, 4*time.Second }
