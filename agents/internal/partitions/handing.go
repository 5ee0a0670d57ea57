package partitions

import "sync"

// A handingLock is a sync.RWMutex that may be held for as long as NATS takes: it waits on a
// channel. A writer that waits holds back new readers.
type handingLock struct {
	mu                sync.Mutex
	readers, awaiting int
	writing           bool
	changed           chan struct{} // closed at the next release; nil while no caller waits
}

// Lock locks it for writing.
func (l *handingLock) Lock() {
	l.mu.Lock()
	l.awaiting++
	for l.writing || l.readers > 0 {
		l.wait()
	}
	l.awaiting--
	l.writing = true
	l.mu.Unlock()
}

// Unlock undoes Lock.
func (l *handingLock) Unlock() {
	l.mu.Lock()
	l.writing = false
	l.notify()
	l.mu.Unlock()
}

// RLock locks it for reading.
func (l *handingLock) RLock() {
	l.mu.Lock()
	for l.writing || l.awaiting > 0 {
		l.wait()
	}
	l.readers++
	l.mu.Unlock()
}

// RUnlock undoes RLock.
func (l *handingLock) RUnlock() {
	l.mu.Lock()
	l.readers--
	l.notify()
	l.mu.Unlock()
}

// wait waits for a release. It is called with mu held, and lets go of it meanwhile.
func (l *handingLock) wait() {
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	changed := l.changed
	l.mu.Unlock()
	<-changed
	l.mu.Lock()
}

// notify is called with mu held.
func (l *handingLock) notify() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}
