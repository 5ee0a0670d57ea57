package gate_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"agenthost/agents/internal/gate"
)

// Work that hangs keeps the next waiting for AloneFor, and what is behind it for as
// long as each of those before takes.
func TestGateIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gate.Gate[int]{}
		all := func(int) bool { return true }
		began := time.Now()
		came := make(chan time.Duration, 4)
		for i := range 4 {
			if g.Enter(i, func(time.Duration) { came <- time.Since(began) }) != (i == 0) {
				t.Errorf("%d: it goes on in the wrong order", i)
			}
		}
		time.Sleep(gate.AloneFor + time.Second)
		g.Leave(1) // a second after it was let in
		g.Leave(0) // its time was over
		time.Sleep(gate.AloneFor)
		synctest.Wait()
		at := []time.Duration{<-came, <-came, <-came}
		if want := []time.Duration{gate.AloneFor, gate.AloneFor + time.Second, 2*gate.AloneFor + time.Second}; !slices.Equal(at, want) {
			t.Errorf("let in after %v, want %v", at, want)
		}
		g.Leave(2)
		g.Leave(3)
		if n := g.Waiting(all); !g.Enter(4, nil) || n != 0 {
			t.Errorf("the gate is not free again: %d wait", n)
		}
		g.Leave(4)
	})
}

// What is released goes on at once, and is not let in.
func TestGateReleases(t *testing.T) {
	t.Parallel()
	g := &gate.Gate[int]{}
	began := map[int]bool{}
	for i := range 5 {
		g.Enter(i, func(time.Duration) { began[i] = true })
	}
	g.Release(func(i int) bool { return i%2 == 0 })
	g.Leave(0)
	if want := map[int]bool{1: true, 2: true, 4: true}; len(began) != 3 || !began[1] || !began[2] || !began[4] {
		t.Errorf("began %v, want %v", began, want)
	}
	g.Leave(1)
	g.Leave(3)
}
