package simulation

import "slices"

// Shrink drops what it can from a plan that fails: half of what is left, then less, down to
// one thing at a time, as long as the plan still fails. It returns what is left of the plan, and
// the names of what was dropped.
func Shrink(p Plan, fails func(Plan) bool) (small Plan, dropped []string) {
	for size := max(len(p.Names())/2, 1); ; size /= 2 {
		left := p.Without(dropped).Names()
		for chunk := range slices.Chunk(left, max(size, 1)) {
			if try := slices.Concat(dropped, chunk); fails(p.Without(try)) {
				dropped = try
			}
		}
		if size <= 1 {
			return p.Without(dropped), dropped
		}
	}
}
