package delivery

// Burden makes l believe that it holds n bytes more than it does.
func (l *Lane) Burden(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes += n
}

// MaxHeldBytes is where a lane slows down.
const MaxHeldBytes = maxHeldBytes
