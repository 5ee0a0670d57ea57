package llm

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
)

// afterStatus is how long the text of an error may take.
const afterStatus = 5 * time.Second

var (
	// ErrLeft is what a provider's reader returns when its caller has left the
	// stream. It ends an Exchange without an error.
	ErrLeft = errors.New("caller left the stream")
	// ErrCut is the cause of an Error when an answer ended without a finish.
	ErrCut = errors.New("stream broke off before the model had finished")
)

// NewPost is a request for a streamed answer, with body as its JSON, in the trace
// of req.
func NewPost(ctx context.Context, url string, body []byte, req *Request) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, &Error{Code: CodeValidation, Err: err}
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

// Exchange sends r and has read take the body of the answer, whose status is one
// of 2xx; failed makes an error of any other. It is nil when read has given all
// there is to its caller, or the caller has left.
func Exchange(client *http.Client, r *http.Request, failed func(*http.Response) error, read func(*Body) error) error {
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
	if err := read(b); !errors.Is(err, ErrLeft) {
		return err
	}
	return nil
}

// unreached is the error of a server that could not be asked. That it took too
// long to connect is what only another server may cure.
func unreached(ctx context.Context, err error) *Error {
	e := Unavailable(err)
	slow, ok := errors.AsType[net.Error](err)
	e.TimedOut = ok && slow.Timeout() && ctx.Err() == nil
	return e
}

// A Body is the body of a streamed answer. It reports what comes to the watch of
// its call.
type Body struct {
	io.Reader
	raw    io.Reader
	buffer *bufio.Reader
	watch  *watch
	hangUp func()
	ending *time.Timer // hangs up; set once the answer has come to its end
}

func newBody(ctx context.Context, raw io.Reader, hangUp func()) *Body {
	b := &Body{raw: raw, watch: watchOf(ctx), hangUp: hangUp}
	if b.watch != nil {
		b.raw = &heardReader{raw, b.watch}
	}
	b.buffer = bufio.NewReader(b.raw)
	b.Reader = io.LimitReader(b.buffer, maxEvent)
	return b
}

// A heardReader reports each byte that it reads.
type heardReader struct {
	io.Reader
	watch *watch
}

func (r *heardReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.watch.heard()
	}
	return n, err
}

// First is the first byte that is no space, which stays to be read. By it a
// provider finds out what kind of answer this is, as content types lie. A
// comment, by which servers keep a connection open, is no part of the answer yet.
func (b *Body) First() (byte, error) {
	for {
		c, err := b.buffer.ReadByte()
		switch {
		case errors.Is(err, io.EOF):
			return 0, Unavailable(ErrCut)
		case err != nil:
			return 0, Unavailable(err)
		case c <= ' ':
			continue
		case c != ':':
			b.watch.begin()
		}
		return c, b.buffer.UnreadByte()
	}
}

// Events are the server's events. Their error is an *Error. Once the answer has
// come to its end, it is no error that the body breaks.
func (b *Body) Events() iter.Seq2[ServerEvent, error] {
	return func(yield func(ServerEvent, error) bool) {
		ServerEvents(b.buffer)(func(e ServerEvent, err error) bool {
			switch {
			case err == nil:
				b.watch.begin()
				return yield(e, nil)
			case b.ending == nil:
				yield(ServerEvent{}, Unavailable(err))
			}
			return false
		})
	}
}

// HangUpAfter gives a server that has finished its answer that long to say what
// it still has to say, from now on.
func (b *Body) HangUpAfter(d time.Duration) {
	if b.ending == nil {
		b.ending = time.AfterFunc(d, b.hangUp)
		return
	}
	b.ending.Reset(d)
}

// Drain lets the connection be used again: what is left is the end of a body, or
// little.
func (b *Body) Drain() { _, _ = io.CopyN(io.Discard, b.raw, 16<<10) }

func (b *Body) stop() {
	if b.ending != nil {
		b.ending.Stop()
	}
}
