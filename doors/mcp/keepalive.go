package mcp

import (
	"maps"
	"net/http"
	"sync"
	"time"
)

const (
	// silence is how long a stream says nothing before a comment goes out: proxies and
	// clients close what is silent for longer.
	silence = 8 * time.Second
	// takeWithin is how long a client may take to read what is sent.
	takeWithin = 30 * time.Second
)

// A keptAlive is a response that says something at least every 8 s once it is under
// way. What takes that long is a stream of events, written an event at a time.
type keptAlive struct {
	w       http.ResponseWriter
	control *http.ResponseController

	mu     sync.Mutex
	header http.Header // until it is sent
	sent   bool
	ended  bool
	timer  *time.Timer
}

func keepAlive(w http.ResponseWriter) *keptAlive {
	k := &keptAlive{w: w, control: http.NewResponseController(w), header: http.Header{}}
	k.mu.Lock() // the timer may fire before it is assigned
	defer k.mu.Unlock()
	k.timer = time.AfterFunc(silence, k.comment)
	return k
}

func (k *keptAlive) Header() http.Header { return k.header }

func (k *keptAlive) WriteHeader(status int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.send(status)
}

// send sends the header, once.
func (k *keptAlive) send(status int) {
	if !k.sent {
		maps.Copy(k.w.Header(), k.header)
		k.w.WriteHeader(status)
		k.sent = true
	}
}

func (k *keptAlive) Write(data []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.send(http.StatusOK)
	k.timer.Reset(silence)
	k.limit()
	return k.w.Write(data)
}

// FlushError is for http.ResponseController.
func (k *keptAlive) FlushError() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.send(http.StatusOK)
	k.limit()
	return k.control.Flush()
}

// limit bounds how long what follows may wait for the client.
func (k *keptAlive) limit() { _ = k.control.SetWriteDeadline(time.Now().Add(takeWithin)) }

// comment writes a line that clients skip.
func (k *keptAlive) comment() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ended {
		return
	}
	if !k.sent { // what k.header has belongs to another goroutine
		k.w.Header().Set("Content-Type", "text/event-stream")
		k.w.Header().Set("Cache-Control", "no-cache, no-transform")
		k.w.WriteHeader(http.StatusOK)
		k.sent = true
	}
	k.limit()
	if _, err := k.w.Write([]byte(": working\n\n")); err == nil && k.control.Flush() == nil {
		k.timer.Reset(silence)
	}
}

// stop ends the comments.
func (k *keptAlive) stop() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = true
	k.timer.Stop()
	_ = k.control.SetWriteDeadline(time.Time{}) // for what comes next on the connection
}
