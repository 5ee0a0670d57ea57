package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// errLong is what a call comes to whose answer is longer than a message may be.
var errLong = fmt.Errorf("the answer is longer than %d MiB, the most that a message of a server may have; ask for less at a time", longestMessage>>20)

// A lineFilter passes on the messages of a server, of which each is a line, or in a
// stream of events several. One that is too long is read to its end, without being
// kept, and replaced by an error that answers its call: the connection and the other
// calls go on. So is one that cannot be read. What answers no request is left out.
type lineFilter struct {
	src    *bufio.Reader
	prefix string             // of a line with a message: "data:" in a stream of events
	junk   func(words []byte) // gets what is left out: complaints, and lines of a program that are no messages

	line []byte // what comes next so far: a line, or those of one message
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

// Read passes on one message at a time, so that nothing waits for what comes after. An
// event ends with the line after its message, for which all have to wait.
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

// next is the next message, or the next line without one, as it is passed on, and the
// end of what comes.
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
		if f.goesOn(f.line, err) {
			continue
		}
		if err != nil && f.isHalf() {
			return nil, err
		}
		return f.judged(), err
	}
}

// goesOn reports whether more of a message comes, of which what begins with head was
// read: the rest of its line, or in a stream of events another line of it.
func (f *lineFilter) goesOn(head []byte, err error) bool {
	if err != nil || f.prefix == "" || !bytes.HasPrefix(head, []byte(f.prefix)) {
		return errors.Is(err, bufio.ErrBufferFull)
	}
	for n := range len(f.prefix) { // byte by byte: after a short line nothing may come for long
		if next, _ := f.src.Peek(n + 1); len(next) <= n || next[n] != f.prefix[n] {
			return false
		}
	}
	return true
}

// message is what was read without what a stream of events has around a message; ok
// is false for a line with something else.
func (f *lineFilter) message() (text []byte, ok bool) {
	text, ok = bytes.CutPrefix(f.line, []byte(f.prefix))
	if another := []byte("\n" + f.prefix); f.prefix != "" && bytes.Contains(text, another) {
		text = bytes.ReplaceAll(text, another, []byte("\n"))
	}
	return bytes.TrimSpace(text), ok
}

// isHalf reports whether the last line of a stream of events, which has no end, was
// cut. To the library it would be the end of the session.
func (f *lineFilter) isHalf() bool {
	text, isMessage := f.message()
	return f.prefix != "" && (!isMessage || !json.Valid(text))
}

// judged is what was read, without what is no message and without complaints.
func (f *lineFilter) judged() []byte {
	text, ok := f.message()
	if !ok || len(text) == 0 {
		return f.line
	}
	if f.prefix == "" && !mayBeMessage(text) {
		f.junk(text)
		return nil
	}
	if why := unreadable(text); why != nil {
		return f.replaced(text, why)
	}
	switch left := withoutComplaints(text, f.junk); len(left) {
	case len(text):
		return f.line
	case 0:
		return nil
	default:
		return f.asLine(left)
	}
}

// replaced is what is passed on of a message that cannot be read: an error for the call that it
// answers.
func (f *lineFilter) replaced(text []byte, why error) []byte {
	instead := inPlaceOf(text, why)
	switch {
	case instead != nil:
		return f.asLine(instead)
	case f.prefix != "" && !errors.Is(why, errDeep):
		return f.line // for the library to refuse
	}
	f.junk(text)
	return nil
}

// asLine is a message as it is passed on.
func (f *lineFilter) asLine(message []byte) []byte {
	return fmt.Appendf(nil, "%s%s\n", f.prefix, message)
}

// mayBeMessage reports whether a line looks like JSON-RPC, or several in a list. Log lines
// may be JSON too.
func mayBeMessage(text []byte) bool {
	list := text[0] == '[' && bytes.HasPrefix(bytes.TrimSpace(text[1:]), []byte("{"))
	return (text[0] == '{' || list) && bytes.Contains(text, []byte(`"jsonrpc"`))
}

// skip reads the message, of which part comes next, to its end.
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
		if !f.goesOn(head, err) {
			break
		}
		part, err = f.src.ReadSlice('\n')
	}
	head = bytes.TrimPrefix(head, []byte(f.prefix))
	switch id := answeredID(head, tail); string(id) {
	case "":
		return nil, errLong
	case "null":
		f.junk(bytes.TrimSpace(head))
		return nil, err
	default:
		return f.asLine(longAnswer(id)), err
	}
}

// longAnswer is the answer in place of one that is too long.
func longAnswer(id json.RawMessage) []byte {
	return errorAnswer(id, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: errLong.Error()})
}

// errorAnswer is an answer that the server has not given.
func errorAnswer(id json.RawMessage, e *jsonrpc.Error) []byte {
	text, _ := json.Marshal(e) // of plain values and what was JSON: never fails
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":%s}`, id, text)
}

var (
	idAtHead = regexp.MustCompile(`^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+|null)\s*[,}]`)
	request  = regexp.MustCompile(`^\s*\{(?:\s*"(?:jsonrpc|id)"\s*:\s*(?:"[^"]*"|\d+|null)\s*,)*\s*"method"\s*:`)
	idAtTail = regexp.MustCompile(`,\s*"id"\s*:\s*(\d+|null)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)
)

// answeredID is the id of the request that a message answers, of which the ends are
// known; nil when it is at neither, and of a request of the server. The ids of our
// requests are numbers; null is that of a complaint.
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
