package a2a

import (
	"net/http"
	"sync"
	"time"
)

// A breath writes a blank now and then before an answer in JSON comes, so that nothing
// on the way takes the connection for dead.
type breath struct {
	http.ResponseWriter
	header http.Header

	mu    sync.Mutex
	begun bool
	done  chan struct{}
	group sync.WaitGroup
}

func breathe(w http.ResponseWriter, every time.Duration) *breath {
	w.Header().Set("Content-Type", "application/json")
	b := &breath{ResponseWriter: w, header: http.Header{}, done: make(chan struct{})}
	b.group.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for {
			select {
			case <-b.done:
				return
			case <-tick.C:
				b.blank()
			}
		}
	})
	return b
}

func (b *breath) blank() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.begun {
		return
	}
	if _, err := b.ResponseWriter.Write([]byte(" ")); err == nil {
		_ = http.NewResponseController(b.ResponseWriter).Flush() // the client may be gone
	}
}

// Header is of no effect: the header may have been sent.
func (b *breath) Header() http.Header { return b.header }

// Write writes the answer.
func (b *breath) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.begun = true
	return b.ResponseWriter.Write(data)
}

// stop ends it. The writer is not used after that.
func (b *breath) stop() {
	close(b.done)
	b.group.Wait()
}
