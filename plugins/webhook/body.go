package webhook

import (
	"context"
	"errors"
	"io"
)

const (
	// pieceSize is what the memory of bodies is counted in.
	pieceSize = 4 << 10
	// bodyRoom is how much of all bodies of an account are in memory at once; the
	// rest waits in the network.
	bodyRoom = 64 << 20
)

var (
	errTooLarge = errors.New("the body is larger than max_body")
	errNoRoom   = errors.New("too many requests at once; try again")
)

// A budget bounds the memory of bodies that are being read or handled.
type budget struct{ pieces chan struct{} }

func newBudget() *budget { return &budget{make(chan struct{}, bodyRoom/pieceSize)} }

// A share is what one request holds of a budget.
type share struct {
	of   *budget
	held int
}

// grow takes n more pieces.
func (s *share) grow(ctx context.Context, n int) error {
	for range n {
		select {
		case s.of.pieces <- struct{}{}:
			s.held++
		case <-ctx.Done():
			return errNoRoom
		}
	}
	return nil
}

func (s *share) free() {
	for ; s.held > 0; s.held-- {
		<-s.of.pieces
	}
}

// readBody reads a body of at most most bytes. It holds memory for what has come, twice
// at most, not for what a header says will come.
func readBody(ctx context.Context, r io.Reader, most int64, s *share) ([]byte, error) {
	var body []byte
	for {
		if len(body) == cap(body) {
			// Doubled, up to one byte too many: each is copied once.
			if err := s.grow(ctx, int(min(int64(max(s.held, 1)), (most-int64(len(body)))/pieceSize+1))); err != nil {
				return nil, err
			}
			body = append(make([]byte, 0, s.held*pieceSize), body...)
		}
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case int64(len(body)) > most:
			return nil, errTooLarge
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil:
			return nil, err
		}
	}
}
