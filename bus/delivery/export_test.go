package delivery

// Burden makes l believe that it holds n bytes more than it does.
func (l *Lane) Burden(n int) {
	l.held.mu.Lock()
	defer l.held.mu.Unlock()
	l.held.bytes += n
}

// MaxHeldBytes is where a lane slows down.
const MaxHeldBytes = maxHeldBytes

// TakenOver makes l as it is after a takeover that has nothing delivered again.
func (l *Lane) TakenOver() { l.progress.restart() }
