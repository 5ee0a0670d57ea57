package history

import (
	"bufio"
	"bytes"
	"net/textproto"
	"strconv"
	"strings"
)

// A frame is a message as it passes on a connection to NATS, in either direction.
type frame struct {
	subject, reply string
	header         textproto.MIMEHeader
	data           []byte
}

// A splitter cuts one direction of a connection into frames. What is no message, such as a
// PING, is passed over.
type splitter struct {
	pending []byte
	current frame
	header  int // bytes of the header of the message that is awaited
	awaited int // bytes of it with its header; -1: a line is awaited
	broken  bool
	take    func(frame)
}

func newSplitter(take func(frame)) *splitter { return &splitter{awaited: noMessage, take: take} }

const (
	noMessage = -1
	lineEnd   = "\r\n"
)

// feed takes the next piece of data.
func (s *splitter) feed(data []byte) {
	if s.broken {
		return
	}
	s.pending = append(s.pending, data...)
	for s.line() || s.message() {
	}
}

// line takes a line, and reports whether there was one.
func (s *splitter) line() bool {
	if s.awaited != noMessage {
		return false
	}
	text, rest, ok := bytes.Cut(s.pending, []byte(lineEnd))
	if !ok {
		return false
	}
	s.pending = rest
	s.control(strings.Fields(string(text)))
	return !s.broken
}

// control reads a line of control, which may be followed by a message.
func (s *splitter) control(words []string) {
	if len(words) < 3 {
		return
	}
	var sizes, ids int
	switch strings.ToUpper(words[0]) {
	case "PUB":
		sizes = 1
	case "HPUB":
		sizes = 2
	case "MSG":
		sizes, ids = 1, 1
	case "HMSG":
		sizes, ids = 2, 1
	default:
		return
	}
	numbers := words[len(words)-sizes:]
	between := words[2+ids : len(words)-sizes]
	s.current = frame{subject: words[1]}
	if len(between) > 0 {
		s.current.reply = between[0]
	}
	total, err := strconv.Atoi(numbers[sizes-1])
	s.header, s.awaited = 0, total
	if sizes == 2 {
		s.header, _ = strconv.Atoi(numbers[0]) // as good as the total, which is checked
	}
	s.broken = err != nil || total < s.header
}

// message takes a message whose line has come, and reports whether there was one.
func (s *splitter) message() bool {
	if s.awaited == noMessage || len(s.pending) < s.awaited+len(lineEnd) {
		return false
	}
	body := s.pending[:s.awaited]
	s.current.header = readHeader(body[:s.header])
	s.current.data = body[s.header:]
	s.take(s.current)
	s.pending = s.pending[s.awaited+len(lineEnd):]
	s.awaited = noMessage
	return true
}

// readHeader reads what follows the line with the version; nil when it is none.
func readHeader(text []byte) textproto.MIMEHeader {
	_, fields, ok := bytes.Cut(text, []byte(lineEnd))
	if !ok {
		return nil
	}
	header, err := textproto.NewReader(bufio.NewReader(bytes.NewReader(fields))).ReadMIMEHeader()
	if err != nil {
		return nil
	}
	return header
}
