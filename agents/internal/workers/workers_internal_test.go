package workers

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// busy has n pieces of work under way until the one who calls lets them go on.
func (c *Pool) busy(n int) (done *atomic.Int32, goOn func()) {
	hold := make(chan struct{})
	done = new(atomic.Int32)
	for range n {
		c.Do(func() {
			<-hold
			done.Add(1)
		})
	}
	return done, func() {
		close(hold)
		synctest.Wait()
	}
}

func wantIdle(t *testing.T, c *Pool, want int) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := len(c.idle); got != want {
		t.Errorf("%d stay, want %d", got, want)
	}
}

func TestPoolDoesAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Pool{}
		for range 2 {
			done, goOn := c.busy(3 * mostIdle)
			goOn()
			wantIdle(t, &c, mostIdle)
			if got := done.Load(); got != 3*mostIdle {
				t.Errorf("%d pieces of work were done, want %d", got, 3*mostIdle)
			}
		}
		if left := c.Close(time.Minute); left != 0 { // else the bubble never ends
			t.Errorf("%d are left", left)
		}
	})
}

func TestPoolSendsOffWhoIsNotNeeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Pool{}
		_, goOn := c.busy(10)
		goOn()
		wantIdle(t, &c, 10)
		time.Sleep(idleTime + idleTime/2)
		for range 3 { // three at a time are needed in each second
			_, goOn := c.busy(3)
			goOn()
			time.Sleep(idleTime)
			wantIdle(t, &c, 3)
		}
		time.Sleep(2 * idleTime)
		wantIdle(t, &c, 0)
		_, goOn = c.busy(1)
		goOn()
		wantIdle(t, &c, 1)
		time.Sleep(3 * idleTime)
		wantIdle(t, &c, 0) // and the bubble ends, as nobody is left
	})
}

// Close waits for what is under way, and not for ever.
func TestPoolClosed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Pool{}
		done, goOn := c.busy(3)
		start := time.Now()
		if left := c.Close(time.Minute); left != 3 || time.Since(start) != time.Minute {
			t.Errorf("%d are left after %s, want 3 after a minute", left, time.Since(start))
		}
		late := false
		c.Do(func() { late = true })
		time.AfterFunc(time.Second, goOn)
		if left := c.Close(time.Minute); left != 0 || done.Load() != 3 || time.Since(start) != time.Minute+time.Second {
			t.Errorf("%d are left after %s, %d are done", left, time.Since(start), done.Load())
		}
		wantIdle(t, &c, 0)
		if !late {
			t.Error("work after the end was not done")
		}
		if left := c.Close(time.Minute); left != 0 {
			t.Errorf("of nobody %d are left", left)
		}
	})
}
