package httpapi

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxEvent bounds what one event may make the host remember. It is generous:
// a server that does not split its tool arguments sends megabytes in a line.
const maxEvent = 32 << 20

const byteOrderMark = "\ufeff"

var errEventTooLong = fmt.Errorf("event is longer than %d MiB", maxEvent>>20)

// An Event is one event of a text/event-stream.
type Event struct {
	Name string // of the `event:` field, empty when there was none
	Data []byte // valid until the next event is read
}

// Events reads a text/event-stream, the format most providers stream in,
// until r ends. Comments and events that say nothing are skipped; an event cut
// by the end of r is still given, as many servers forget the last empty line.
// Reading blocks as r does; an error of r is the last element.
func Events(r io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		lines := lineReader{r: bufio.NewReader(r)}
		if start, _ := lines.r.Peek(len(byteOrderMark)); string(start) == byteOrderMark {
			_, _ = lines.r.Discard(len(byteOrderMark))
		}
		var e eventBuffer
		for {
			line, err := lines.next()
			if err == nil && len(line) > 0 {
				if err = e.add(line); err == nil {
					continue
				}
			}
			switch {
			case err == nil:
				if !e.flush(yield) {
					return
				}
			case errors.Is(err, io.EOF):
				e.flush(yield)
				return
			default:
				yield(Event{}, err)
				return
			}
		}
	}
}

// A lineReader reads lines of any length up to maxEvent; its effort is linear,
// however small the reads are.
type lineReader struct {
	r      *bufio.Reader
	long   []byte // the line, when it does not fit the buffer of r
	behind bool   // the line before ended with a CR: a newline that follows belongs to it
}

// next is the next line without its end, which is LF, CRLF or CR. It is valid until
// the next call. The last line needs no end.
func (l *lineReader) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, end, err := l.part()
		if end && len(l.long) == 0 {
			return part, nil
		}
		l.long = append(l.long, part...)
		switch {
		case len(l.long) > maxEvent:
			return nil, errEventTooLong
		case end, errors.Is(err, io.EOF) && len(l.long) > 0:
			return l.long, nil
		case err != nil:
			return nil, err
		}
	}
}

// part is what is there of a line, at most up to its end.
func (l *lineReader) part() (part []byte, end bool, err error) {
	if _, err := l.r.Peek(1); err != nil {
		return nil, false, err
	}
	there, _ := l.r.Peek(l.r.Buffered())
	if l.behind && there[0] == '\n' {
		_, _ = l.r.Discard(1)
		l.behind = false
		return nil, false, nil
	}
	l.behind = false
	n := lineEnd(there)
	if n < 0 {
		_, _ = l.r.Discard(len(there))
		return there, false, nil
	}
	l.behind = there[n] == '\r'
	_, _ = l.r.Discard(n + 1)
	return there[:n], true, nil
}

// lineEnd is where the first line of data ends, -1 when it does not.
func lineEnd(data []byte) int {
	n := bytes.IndexByte(data, '\n')
	if n < 0 {
		return bytes.IndexByte(data, '\r')
	}
	if cr := bytes.IndexByte(data[:n], '\r'); cr >= 0 {
		return cr
	}
	return n
}

// An eventBuffer collects the lines of one event, and is used for the next.
type eventBuffer struct {
	name    string
	data    []byte
	hasData bool

	last string // name of an event before, which most have in common
}

func (e *eventBuffer) add(line []byte) error {
	field, value, _ := bytes.Cut(line, []byte(":")) // a comment has an empty field
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(field) {
	case "event":
		if e.last != string(value) {
			e.last = string(value)
		}
		e.name = e.last
	case "data":
		if len(e.data)+len(value) >= maxEvent {
			return errEventTooLong
		}
		if e.hasData {
			e.data = append(e.data, '\n')
		}
		e.data, e.hasData = append(e.data, value...), true
	case "error": // of llama.cpp until 2025, which has its errors in a field of their own
		e.name = "error"
		return e.add(append([]byte("data:"), value...))
	}
	return nil
}

// flush gives the event, if it says anything, and empties the buffer.
func (e *eventBuffer) flush(yield func(Event, error) bool) bool {
	ev := Event{Name: e.name, Data: e.data}
	*e = eventBuffer{data: e.data[:0], last: e.last}
	return ev.Name == "" && len(ev.Data) == 0 || yield(ev, nil)
}
