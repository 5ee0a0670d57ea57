package a2a

import (
	"net/http"
	"time"
)

// takeWithin is how long a client may take nothing.
const takeWithin = 30 * time.Second

// A bounded is the writer of a stream, which gives up on a client that takes nothing: its
// run goes on.
type bounded struct {
	http.ResponseWriter
	control *http.ResponseController
}

func newBounded(w http.ResponseWriter) *bounded { return &bounded{w, http.NewResponseController(w)} }

func (b *bounded) Write(data []byte) (int, error) {
	b.limit()
	return b.ResponseWriter.Write(data)
}

// Flush is for the library. That the client is gone shows in what is written next.
func (b *bounded) Flush() {
	b.limit()
	_ = b.control.Flush()
}

// limit bounds how long what follows may wait for the client.
func (b *bounded) limit() {
	_ = b.control.SetWriteDeadline(time.Now().Add(takeWithin)) // what cannot have one waits
}

// end lets the connection be used again.
func (b *bounded) end() { _ = b.control.SetWriteDeadline(time.Time{}) }
