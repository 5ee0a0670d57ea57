package httpapi

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"time"

	"agenthost/llm"
)

// afterStatus is how long the text of an error may take.
const afterStatus = 5 * time.Second

var (
	// errLeft is what Give returns when the caller has left the stream. It ends an
	// exchange without an error.
	errLeft = errors.New("caller left the stream")
	errCut  = errors.New("stream broke off before the model had finished")
)

// newPost is a request for a streamed answer, with body as its JSON, in the trace
// of req.
func newPost(ctx context.Context, url string, body []byte, req *llm.Request) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, &llm.Error{Code: llm.CodeValidation, Err: err}
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "text/event-stream")
	if req.TraceParent != "" {
		r.Header.Set("Traceparent", req.TraceParent)
	}
	if req.TraceState != "" {
		r.Header.Set("Tracestate", req.TraceState)
	}
	return r, nil
}

// exchange sends r and has read take the body of the answer, whose status is one
// of 2xx; failed makes an error of any other. It is nil when read has given all
// there is to its caller, or the caller has left.
func exchange(client *http.Client, r *http.Request, failed func(*http.Response) error, read func(*body) error) error {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	res, err := client.Do(r.WithContext(ctx))
	if err != nil {
		return unreached(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		defer time.AfterFunc(afterStatus, cancel).Stop()
		return failed(res)
	}
	b := newBody(ctx, res.Body, cancel)
	defer b.stop()
	if err := read(b); !errors.Is(err, errLeft) {
		return err
	}
	return nil
}

// unreached is the error of a server that could not be asked. That it took too
// long to connect is what only another server may cure.
func unreached(ctx context.Context, err error) *llm.Error {
	e := llm.Unavailable(err)
	slow, ok := errors.AsType[net.Error](err)
	e.TimedOut = ok && slow.Timeout() && ctx.Err() == nil
	return e
}

// A body is that of a streamed answer. It reports what comes to the timeouts of
// its call.
type body struct {
	io.Reader
	raw      io.Reader
	buffer   *bufio.Reader
	progress llm.Progress
	hangUp   func()
	ending   *time.Timer // hangs up; set once the answer has come to its end
}

func newBody(ctx context.Context, raw io.Reader, hangUp func()) *body {
	b := &body{raw: raw, progress: llm.ProgressOf(ctx), hangUp: hangUp}
	if b.progress.Watched() {
		b.raw = &progressReader{raw, b.progress}
	}
	b.buffer = bufio.NewReader(b.raw)
	b.Reader = io.LimitReader(b.buffer, maxEvent)
	return b
}

// A progressReader reports each byte that it reads.
type progressReader struct {
	io.Reader
	progress llm.Progress
}

func (r *progressReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.progress.Received()
	}
	return n, err
}

// first is the first byte that is no space, which stays to be read. By it a
// provider finds out what kind of answer this is, as content types lie. A
// comment, by which servers keep a connection open, is no part of the answer yet.
func (b *body) first() (byte, error) {
	for {
		c, err := b.buffer.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return 0, llm.Unavailable(errCut)
		case err != nil:
			return 0, llm.Unavailable(err)
		case c <= ' ':
			continue
		case c != ':':
			b.progress.Begun()
		}
		return c, b.buffer.UnreadByte()
	}
}

// events are the server's events. Their error is an *llm.Error. Once the answer has
// come to its end, it is no error that the body breaks.
func (b *body) events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		Events(b.buffer)(func(e Event, err error) bool {
			switch {
			case err == nil:
				b.progress.Begun()
				return yield(e, nil)
			case b.ending == nil:
				yield(Event{}, llm.Unavailable(err))
			}
			return false
		})
	}
}

// hangUpAfter gives a server that has finished its answer that long to say what
// it still has to say, from now on.
func (b *body) hangUpAfter(d time.Duration) {
	if b.ending == nil {
		b.ending = time.AfterFunc(d, b.hangUp)
		return
	}
	b.ending.Reset(d)
}

// drain lets the connection be used again: what is left is the end of a body, or
// little.
func (b *body) drain() { _, _ = io.CopyN(io.Discard, b.raw, 16<<10) }

func (b *body) stop() {
	if b.ending != nil {
		b.ending.Stop()
	}
}
