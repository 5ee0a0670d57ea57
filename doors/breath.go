package doors

import (
	"maps"
	"net/http"
	"sync"
	"time"
)

// takeWithin is how long a client may take nothing.
const takeWithin = 30 * time.Second

// A Breath writes a blank now and then before an answer in JSON comes, so that nothing
// on the way takes the connection for dead. JSON may begin with blanks; an interim
// status would do as well, but many a client takes the first for the answer. What comes
// behind a blank has the status 200, and no header of its own.
type Breath struct {
	w      http.ResponseWriter
	header http.Header // of the answer; that of w belongs to the goroutine

	mu    sync.Mutex
	blank bool // one was sent, so the status is as well
	last  bool // no blank comes any more
	begun bool // the answer has
	done  chan struct{}
	group sync.WaitGroup
}

// Breathe is a writer for an answer that may take long, until Stop.
func Breathe(w http.ResponseWriter) *Breath {
	b := &Breath{w: w, header: w.Header().Clone(), done: make(chan struct{})}
	b.group.Go(func() {
		tick := time.NewTicker(idleAfter)
		defer tick.Stop()
		for {
			select {
			case <-b.done:
				return
			case <-tick.C:
				b.sign()
			}
		}
	})
	return b
}

// sign writes a blank.
func (b *Breath) sign() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last {
		return
	}
	if !b.blank {
		b.blank = true
		h := b.w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("X-Accel-Buffering", "no") // nginx would keep the blanks
		b.w.WriteHeader(http.StatusOK)
	}
	b.limit()
	if _, err := b.w.Write([]byte(" ")); err == nil {
		_ = http.NewResponseController(b.w).Flush() // the client may be gone
	}
}

// limit bounds how long what follows may wait for the client.
func (b *Breath) limit() {
	_ = http.NewResponseController(b.w).SetWriteDeadline(time.Now().Add(takeWithin)) // what cannot have one waits
}

// Header is that of the answer.
func (b *Breath) Header() http.Header { return b.header }

// WriteHeader begins the answer.
func (b *Breath) WriteHeader(status int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin(status)
}

func (b *Breath) begin(status int) {
	if b.begun {
		return
	}
	b.begun, b.last = true, true
	if !b.blank {
		maps.Copy(b.w.Header(), b.header)
		b.w.WriteHeader(status)
	}
}

// Write writes of the answer.
func (b *Breath) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begin(http.StatusOK)
	b.limit()
	return b.w.Write(data)
}

// Late stops the blanks, as the answer comes at once. It reports whether one was sent,
// so that the answer has the status 200.
func (b *Breath) Late() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = true
	return b.blank
}

// Stop ends it. The writer is not used after that.
func (b *Breath) Stop() {
	close(b.done)
	b.group.Wait()
	_ = http.NewResponseController(b.w).SetWriteDeadline(time.Time{}) // for what comes next on the connection
}
