package agents

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// A run that hangs keeps the next waiting for aloneFor, and those behind it for as
// long as each of the ones before takes.
func TestGateIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, g := &Runtime{}, &gate{}
		r.parts = &Parts{}
		began := time.Now()
		came := make(chan time.Duration, 4)
		runs := make([]*conversation, 4)
		for i := range runs {
			c := newConversation(r, "web/dm/ana")
			runs[i] = c
			if g.enter(c, func() { came <- time.Since(began) }) != (i == 0) {
				t.Errorf("run %d: it goes on in the wrong order", i)
			}
		}
		time.Sleep(aloneFor + time.Second)
		g.leave(runs[1]) // a second after it was let in
		g.leave(runs[0]) // its time was over
		time.Sleep(aloneFor)
		synctest.Wait()
		at := []time.Duration{<-came, <-came, <-came}
		if want := []time.Duration{aloneFor, aloneFor + time.Second, 2*aloneFor + time.Second}; !slices.Equal(at, want) {
			t.Errorf("let in after %v, want %v", at, want)
		}
		g.leave(runs[2])
		g.leave(runs[3])
		if c := newConversation(r, "web/dm/bea"); !g.enter(c, nil) || g.count(r) != 0 || len(g.inside) != 1 {
			t.Errorf("the gate is not free again: %d wait, %d are inside", g.count(r), len(g.inside))
		}
		g.timer.Stop()
	})
}
