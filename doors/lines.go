package doors

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Lines are the messages of a client on stdio.
type Lines struct {
	in      *bufio.Reader
	longest int
}

// ErrTooLong is wrapped by the error of Next for a line that is longer than they may be.
var ErrTooLong = errors.New("line is too long")

// NewLines reads lines of up to longest bytes.
func NewLines(in io.Reader, longest int) *Lines {
	return &Lines{bufio.NewReaderSize(in, 64<<10), longest}
}

// Next is the next line; the last may lack its end. One that is too long is read over, so
// the one after it can be had.
func (l *Lines) Next() ([]byte, error) {
	var line []byte
	long := false
	for {
		piece, err := l.in.ReadSlice('\n')
		if long = long || len(line)+len(piece) > l.longest; long {
			line = nil
		} else {
			line = append(line, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case long && (err == nil || errors.Is(err, io.EOF)):
			return nil, fmt.Errorf("%w: want at most %d MB", ErrTooLong, l.longest>>20)
		case err == nil || len(line) > 0 && errors.Is(err, io.EOF):
			return line, nil
		default:
			return nil, err
		}
	}
}
