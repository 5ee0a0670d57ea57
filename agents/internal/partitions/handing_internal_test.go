package partitions

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// What waits for a message to be handed on waits as long as NATS takes, and lets time pass: on no mutex.
func TestHandingLock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l handingLock
		var got []string
		l.RLock()
		go func() {
			l.Lock()
			got = append(got, "changed")
			l.Unlock()
		}()
		synctest.Wait()
		done := make(chan struct{})
		go func() {
			defer close(done)
			l.RLock() // behind the one that waits
			got = append(got, "handed on")
			l.RUnlock()
		}()
		time.Sleep(time.Hour) // NATS is away
		if len(got) > 0 {
			t.Errorf("got %q while a message is handed on", got)
		}
		l.RUnlock()
		<-done
		if len(got) != 2 || got[0] != "changed" {
			t.Errorf("got %q, want the change before the next message", got)
		}
	})
}

// While the layout changes nothing is handed on, and nothing else changes it.
func TestHandingLockIsHeldAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l handingLock
		var others atomic.Int32
		l.Lock()
		go func() { l.RLock(); others.Add(1); l.RUnlock() }()
		go func() { l.Lock(); others.Add(1); l.Unlock() }()
		synctest.Wait()
		if n := others.Load(); n > 0 {
			t.Errorf("%d others have it", n)
		}
		l.Unlock()
		synctest.Wait()
		if n := others.Load(); n != 2 {
			t.Errorf("%d have it afterwards, want both", n)
		}
	})
}
