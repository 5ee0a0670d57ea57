package parts

import (
	"crypto/sha256"
	"sync"
	"time"
)

// RefusedMedia are attachments that models were found to refuse a request with. They are tried again
// after an hour, as an address may be reached again by then. The zero RefusedMedia are empty.
type RefusedMedia struct {
	mu    sync.RWMutex
	until map[[sha256.Size]byte]time.Time
}

const (
	refusedFor  = time.Hour
	mostRefused = 10_000
)

// Add remembers an attachment by its key.
func (r *RefusedMedia) Add(key string) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[[sha256.Size]byte]time.Time{}
	}
	for other, until := range r.until {
		if len(r.until) < mostRefused && now.Before(until) {
			break
		}
		delete(r.until, other)
	}
	r.until[sha256.Sum256([]byte(key))] = now.Add(refusedFor)
}

// Empty reports whether no attachment is remembered.
func (r *RefusedMedia) Empty() bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.until) == 0
}

// Has reports whether an attachment is one of them.
func (r *RefusedMedia) Has(key string) bool {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return time.Now().Before(r.until[sha256.Sum256([]byte(key))])
}
