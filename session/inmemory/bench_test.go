package inmemory_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"testing"

	"agenthost/session"
	"agenthost/session/inmemory"
)

func benchKeys(n int) []session.Key {
	keys := make([]session.Key, n)
	for i := range keys {
		keys[i] = session.DM("telegram", "sales", strconv.Itoa(i))
	}
	rand.Shuffle(n, func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
	return keys
}

// filled is a manager with no bound that holds a session for each key, made in
// another order than the keys are in.
func filled(b *testing.B, keys []session.Key) *inmemory.Manager[*int] {
	m := inmemory.NewManager(inmemory.Options[*int]{Max: new(0)})
	start(b, m)
	for _, i := range rand.Perm(len(keys)) {
		m.GetOrCreate(keys[i])
	}
	return m
}

func BenchmarkManager(b *testing.B) {
	for _, n := range []int{10_000, 1_000_000} {
		keys := benchKeys(n)
		m := filled(b, keys)
		b.Run(fmt.Sprintf("GetOrCreate/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m.GetOrCreate(keys[i%n])
			}
		})
		b.Run(fmt.Sprintf("MemoryReads/%d", n), func(b *testing.B) { memoryReads(b, n) })
		b.Run(fmt.Sprintf("AcquireRelease/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				m.Acquire(keys[i%n]).Release()
			}
		})
		b.Run(fmt.Sprintf("GetOrCreateParallel/%d", n), func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for i := rand.IntN(n); pb.Next(); i++ {
					m.GetOrCreate(keys[i%n])
				}
			})
		})
		b.Run(fmt.Sprintf("EvictInsert/%d", n), func(b *testing.B) {
			full := inmemory.NewManager(inmemory.Options[*int]{Max: new(n / 2)})
			start(b, full)
			for _, key := range keys {
				full.GetOrCreate(key)
			}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				full.GetOrCreate(keys[i%n])
			}
		})
	}
}

// memoryReads is what the machine takes for as many dependent reads as finding a
// session needs: its key, its place in the map, its entry. They go through as
// much memory as that many sessions have. What the rest of GetOrCreate costs is
// the difference; how long a read is in coming changes with the machine's other
// users, several times over.
func memoryReads(b *testing.B, n int) {
	type line struct {
		next *line
		_    [56]byte
	}
	lines := make([]*line, 2*n)
	for i := range lines {
		lines[i] = new(line)
	}
	rand.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	for i, l := range lines {
		l.next = lines[(i+1)%len(lines)]
	}
	for at := lines[0]; b.Loop(); {
		at = at.next.next.next
	}
}
