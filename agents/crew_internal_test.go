package agents

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
)

func TestCrewDoesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, done, hold := crew{}, atomic.Int32{}, make(chan struct{})
		for range 2 {
			for range 3 * mostIdle {
				c.do(func() {
					<-hold
					done.Add(1)
				})
			}
			close(hold)
			synctest.Wait()
			if got := len(c.idle); got != mostIdle {
				t.Errorf("%d stay, want %d", got, mostIdle)
			}
			hold = make(chan struct{})
		}
		if got := done.Load(); got != 6*mostIdle {
			t.Errorf("%d pieces of work were done, want %d", got, 6*mostIdle)
		}
		c.dismiss() // else the bubble never ends
	})
}

func TestCrewDismissed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, hold := crew{}, make(chan struct{})
		for range 3 {
			c.do(func() { <-hold })
		}
		c.dismiss()
		late := false
		c.do(func() { late = true })
		close(hold)
		synctest.Wait()
		if !late || len(c.idle) > 0 {
			t.Errorf("work after the end was done: %v; %d stay", late, len(c.idle))
		}
	})
}
