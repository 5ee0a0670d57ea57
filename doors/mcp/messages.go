package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"agenthost/doors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// messages reads the lines of a client and gives the valid ones to the SDK, which ends at the
// first invalid line. Invalid lines are answered here. The SDK answers nothing once it has read
// the end of the input, so it reads that when what it has read before is answered.
type messages struct {
	io.Closer // of the input
	lines     *doors.Lines
	out       *responses
	ended     func() // is called at the end of the input, and returns when that counts
	rest      []byte // read from the client, and not by the SDK
}

func newMessages(in io.ReadCloser, out *responses, ended func()) *messages {
	return &messages{Closer: in, lines: doors.NewLines(in, longestLine), out: out, ended: ended}
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.lines.Next()
		switch {
		case errors.Is(err, doors.ErrTooLong):
			m.refuse(nil, jsonrpc.CodeParseError, err)
		case errors.Is(err, io.EOF):
			m.ended()
			return 0, err
		case err != nil:
			return 0, err
		default:
			m.take(bytes.TrimSpace(line))
		}
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// take has the SDK read a line. A batch, which only old versions of the protocol have,
// is as many lines.
func (m *messages) take(line []byte) {
	if len(line) == 0 {
		return
	}
	if !utf8.Valid(line) {
		m.refuse(nil, jsonrpc.CodeParseError, errors.New("the line is not UTF-8"))
		return
	}
	if !json.Valid(line) {
		m.refuse(nil, jsonrpc.CodeParseError, errors.New("the line is no JSON"))
		return
	}
	var batch []json.RawMessage
	if json.Unmarshal(line, &batch) == nil && len(batch) > 0 {
		for _, one := range batch {
			m.takeOne(one)
		}
		return
	}
	m.takeOne(line)
}

func (m *messages) takeOne(message []byte) {
	decoded, err := decode(message)
	if err != nil {
		m.refuse(idOf(message), jsonrpc.CodeInvalidRequest, err)
		return
	}
	// A subscription has no answer of its own.
	if r, ok := decoded.(*jsonrpc.Request); ok && r.IsCall() {
		if !m.out.expect(r.ID, r.Method != "subscriptions/listen") {
			m.refuse(nil, jsonrpc.CodeInvalidRequest, fmt.Errorf("the id %v is that of a request under way", r.ID.Raw()))
			return
		}
		message = m.out.order.line(r, message)
	}
	m.rest = append(append(m.rest, message...), '\n')
}

// idOf is the id of what is no message, if it has one.
func idOf(line []byte) any {
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	var id any
	if json.Unmarshal(line, &m) != nil || json.Unmarshal(m.ID, &id) != nil {
		return nil
	}
	if _, err := jsonrpc.MakeID(id); err != nil {
		return nil
	}
	return m.ID
}

// refuse answers what is no message. That a client takes no more shows in the end of its
// input.
func (m *messages) refuse(id any, code int, err error) {
	_, _ = m.out.Write(errorOf(id, code, noMessage+err.Error()))
}

// responses are the lines to a client, of several writers. They know which requests have
// none yet.
type responses struct {
	io.WriteCloser
	order   *order
	writing sync.Mutex

	mu   sync.Mutex
	open map[jsonrpc.ID]bool // the requests without one, and whether it is awaited
	left int                 // the responses that are awaited and not written yet
	lost bool                // the client takes no more
	all  chan struct{}       // that of complete, until it is closed
}

func newResponses(out io.WriteCloser, order *order) *responses {
	return &responses{WriteCloser: out, order: order, open: map[jsonrpc.ID]bool{}}
}

// expect notes a request, and whether its response is awaited at the end of the input. One whose id
// is that of a request without a response is not noted: the SDK would answer neither.
func (r *responses) expect(id jsonrpc.ID, awaited bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.open[id]; known {
		return false
	}
	if r.open[id] = awaited; awaited {
		r.left++
	}
	return true
}

// Write writes a line.
func (r *responses) Write(line []byte) (int, error) {
	m, _ := jsonrpc.DecodeMessage(line) // a line that does not decode answers no request
	answer, ok := m.(*jsonrpc.Response)
	sent, awaited := line, false
	if ok {
		sent, awaited = coded(line, answer), r.answer(answer.ID)
	}
	r.writing.Lock()
	_, err := r.WriteCloser.Write(sent)
	r.writing.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if awaited {
		r.left--
	}
	r.lost = r.lost || err != nil
	r.check()
	return len(line), err
}

// answer is called right before a response is written: a client may use its id again once it has read that.
func (r *responses) answer(id jsonrpc.ID) (awaited bool) {
	r.order.answered(id)
	r.mu.Lock()
	defer r.mu.Unlock()
	awaited = r.open[id]
	delete(r.open, id)
	return awaited
}

// check has mu.
func (r *responses) check() {
	if r.all != nil && (r.lost || r.left == 0) {
		close(r.all)
		r.all = nil
	}
}

// complete is closed once all that is expected is answered, or the client takes no more. It is
// called once, when no more is expected.
func (r *responses) complete() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	done := make(chan struct{})
	r.all = done
	r.check()
	return done
}
