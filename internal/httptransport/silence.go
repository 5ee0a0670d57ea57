package httptransport

import (
	"context"
	"fmt"
	"io"
	"time"
)

// A Silence ends a request on which nothing comes: a large answer may take long, as long as
// it goes on.
type Silence struct {
	limit time.Duration
	timer *time.Timer
	end   context.CancelCauseFunc
}

// WatchSilence is ctx for a request that ends when nothing has come for limit. Stop ends the
// watch, and ctx with it.
func WatchSilence(ctx context.Context, limit time.Duration) (context.Context, *Silence) {
	ctx, end := context.WithCancelCause(ctx)
	timer := time.AfterFunc(limit, func() { end(fmt.Errorf("the server has been silent for %s", limit)) })
	return ctx, &Silence{limit, timer, end}
}

// Stop ends the watch.
func (s *Silence) Stop() {
	s.timer.Stop()
	s.end(nil)
}

// Reader is the body of the answer.
func (s *Silence) Reader(body io.Reader) io.Reader { return &heard{body, s} }

type heard struct {
	io.Reader
	silence *Silence
}

func (h *heard) Read(p []byte) (int, error) {
	n, err := h.Reader.Read(p)
	if n > 0 {
		h.silence.timer.Reset(h.silence.limit)
	}
	return n, err
}
