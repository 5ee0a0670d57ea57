package openai

import (
	"encoding/json"
	"net/http"
	"time"
)

// writeWithin is how long a client may take nothing.
const writeWithin = 30 * time.Second

// A stream writes server-sent events. The first is behind the header, so that what
// fails before it has a status.
type stream struct {
	w     http.ResponseWriter
	begun bool
	gone  bool
}

func (s *stream) begin() {
	if s.begun {
		return
	}
	s.begun = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(http.StatusOK)
}

// send writes an event, named where the API names them.
func (s *stream) send(name string, v any) {
	data, err := json.Marshal(v)
	if err != nil { // texts and numbers always marshal
		return
	}
	line := "data: " + string(data) + "\n\n"
	if name != "" {
		line = "event: " + name + "\n" + line
	}
	s.write(line)
}

// idle tells the client, and what is between, that the stream lives.
func (s *stream) idle() { s.write(": keep-alive\n\n") }

// write gives up on a client that takes nothing; its run goes on.
func (s *stream) write(text string) {
	if s.gone {
		return
	}
	s.begin()
	c := http.NewResponseController(s.w)
	_ = c.SetWriteDeadline(time.Now().Add(writeWithin))    // what cannot have one waits
	defer func() { _ = c.SetWriteDeadline(time.Time{}) }() // the connection may be used again
	_, err := s.w.Write([]byte(text))
	if err == nil {
		err = c.Flush()
	}
	s.gone = err != nil
}
