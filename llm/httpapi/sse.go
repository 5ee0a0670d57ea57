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
	r    *bufio.Reader
	long []byte // the line, when it does not fit the buffer of r
}

// next is the next line without its end, valid until the next call. The last
// line needs no end.
func (l *lineReader) next() ([]byte, error) {
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if err == nil && len(l.long) == 0 {
			return withoutEnd(part), nil
		}
		l.long = append(l.long, part...)
		switch {
		case len(l.long) > maxEvent:
			return nil, errEventTooLong
		case err == nil, errors.Is(err, io.EOF) && len(l.long) > 0:
			return withoutEnd(l.long), nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func withoutEnd(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
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
	}
	return nil
}

// flush gives the event, if it says anything, and empties the buffer.
func (e *eventBuffer) flush(yield func(Event, error) bool) bool {
	ev := Event{Name: e.name, Data: e.data}
	*e = eventBuffer{data: e.data[:0], last: e.last}
	return ev.Name == "" && len(ev.Data) == 0 || yield(ev, nil)
}
