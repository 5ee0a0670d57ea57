package chat

import (
	"bufio"
	"context"
	"errors"
	"io"
)

// A line is one of the input, or why there is none.
type line struct {
	text string
	err  error
}

// readLines sends the lines of r, however long, and closes the channel at its
// end. Nothing can make a read of a terminal return, so its goroutine may
// outlive ctx, until the next line or the end of the process.
func readLines(ctx context.Context, r io.Reader) <-chan line {
	lines := make(chan line)
	go func() {
		defer close(lines)
		in := bufio.NewReader(r)
		for {
			text, err := in.ReadString('\n')
			if errors.Is(err, io.EOF) && text == "" {
				return
			}
			l := line{text: text}
			if err != nil && !errors.Is(err, io.EOF) {
				l = line{err: err}
			}
			select {
			case lines <- l:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}
