package host_test

import "hash/fnv"

// laneOf is the lane of an agent, of count, as the engine has it.
func laneOf(agent string, count int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(agent)) // never fails
	return int(h.Sum32() % uint32(count))
}
