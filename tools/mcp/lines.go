package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// errLong is what a call comes to whose answer is longer than a message may be.
var errLong = fmt.Errorf("the answer is longer than %d MiB, the most that a message of a server may have; ask for less at a time", longestMessage>>20)

// A lineFilter passes on the messages of a server, of which each is a line. One
// that is too long is read to its end, without being kept, and replaced by an
// error that answers its call: the connection and the other calls go on.
type lineFilter struct {
	src    *bufio.Reader
	prefix string             // of a line with a message: "data:" in a stream of events
	junk   func(words []byte) // gets what is no message, or answers no request; nil: such lines are passed on

	line []byte // the line so far, to be passed on
	rest []byte // of line, not read yet
	err  error
}

const (
	// keptOfLong is how much of both ends of a line is kept that is too long. At
	// one of them is the id of the request that it answers.
	keptOfLong = 512
	// longestSkipped is how much of a line is read to find its end.
	longestSkipped = 1 << 30
)

func newLineFilter(src io.Reader, prefix string, junk func([]byte)) *lineFilter {
	return &lineFilter{src: bufio.NewReaderSize(src, 64<<10), prefix: prefix, junk: junk}
}

// Read passes on one line at a time, so that nothing waits for what comes after.
func (f *lineFilter) Read(p []byte) (int, error) {
	for len(f.rest) == 0 {
		if f.err != nil {
			return 0, f.err
		}
		f.rest, f.err = f.next()
	}
	n := copy(p, f.rest)
	f.rest = f.rest[n:]
	return n, nil
}

// next is the next line as it is passed on, and the end of what comes.
func (f *lineFilter) next() ([]byte, error) {
	if cap(f.line) > 1<<20 { // no memory is held for a message that was long
		f.line = nil
	}
	f.line = f.line[:0]
	for {
		part, err := f.src.ReadSlice('\n')
		if len(f.line)+len(part) > longestMessage {
			return f.skip(part, err)
		}
		f.line = append(f.line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && f.isHalf() {
			return nil, err
		}
		return f.judged(), err
	}
}

// isHalf reports whether the last line of a stream of events, which has no end, was
// cut. To the library it would be the end of the session.
func (f *lineFilter) isHalf() bool {
	data, isMessage := bytes.CutPrefix(f.line, []byte(f.prefix))
	return f.prefix != "" && (!isMessage || !json.Valid(data))
}

// judged is the line, or nothing when it is no message, or answers no request.
func (f *lineFilter) judged() []byte {
	if f.junk == nil {
		return f.line
	}
	if text := bytes.TrimSpace(f.line); len(text) > 0 && (!isMessage(text) || answersNone(text)) {
		f.junk(text)
		return nil
	}
	return f.line
}

// isMessage reports whether a line is JSON-RPC, or several in a list. Log lines
// may be JSON too.
func isMessage(text []byte) bool {
	list := text[0] == '[' && bytes.HasPrefix(bytes.TrimSpace(text[1:]), []byte("{"))
	return (text[0] == '{' || list) && bytes.Contains(text, []byte(`"jsonrpc"`)) && json.Valid(text)
}

// longestComplaint is more than an answer to no request says: others need not be read
// twice.
const longestComplaint = 64 << 10

// answersNone reports whether a message is an answer that has no id of a request: a
// server that cannot read one says so in this way. To the library it would be the end of
// the connection.
func answersNone(text []byte) bool {
	if len(text) > longestComplaint || text[0] != '{' {
		return false
	}
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	_ = json.Unmarshal(text, &m) // it is known to be an object
	return len(m.Method) == 0 && (len(m.ID) == 0 || string(m.ID) == "null")
}

// skip reads the line, of which part comes next, to its end.
func (f *lineFilter) skip(part []byte, err error) ([]byte, error) {
	head := bytes.Clone(f.line[:min(len(f.line), keptOfLong)])
	f.line = nil
	var tail []byte
	for skipped := 0; ; skipped += len(part) {
		if skipped > longestSkipped {
			return nil, errLong
		}
		tail = append(tail, part...)
		tail = append(tail[:0], tail[max(0, len(tail)-keptOfLong):]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		part, err = f.src.ReadSlice('\n')
	}
	id := answeredID(bytes.TrimPrefix(head, []byte(f.prefix)), tail)
	if id == nil {
		return nil, errLong
	}
	return fmt.Appendf(nil, "%s%s\n", f.prefix, longAnswer(id)), err
}

// longAnswer is the answer in place of one that is too long.
func longAnswer(id json.RawMessage) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%q}}`, id, errLong)
}

var (
	idAtHead = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*[,}]`)
	request  = regexp.MustCompile(`^\s*\{(?:\s*"(?:jsonrpc|id)"\s*:\s*(?:"[^"]*"|\d+)\s*,)*\s*"method"\s*:`)
	idAtTail = regexp.MustCompile(`,\s*"id"\s*:\s*(\d+)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// answeredID is the id of the request that a message answers, of which the ends
// are known; nil when it is at neither, and of a request of the server. The ids of our requests are numbers.
func answeredID(head, tail []byte) json.RawMessage {
	if request.Match(head) {
		return nil
	}
	for _, found := range [][][]byte{idAtHead.FindSubmatch(head), idAtTail.FindSubmatch(tail)} {
		if found != nil {
			return found[1]
		}
	}
	return nil
}
