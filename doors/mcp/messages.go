package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"sync"

	"agenthost/doors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// messages reads the lines of a client and gives the valid ones to the SDK, which ends at the
// first invalid line. Invalid lines are answered here.
type messages struct {
	io.Closer // of the input
	lines     *doors.Lines
	out       io.Writer
	rest      []byte // read from the client, and not by the SDK
}

func newMessages(in io.ReadCloser, out io.Writer) *messages {
	return &messages{Closer: in, lines: doors.NewLines(in, longestLine), out: out}
}

func (m *messages) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		line, err := m.lines.Next()
		switch {
		case errors.Is(err, doors.ErrTooLong):
			m.refuse(nil, jsonrpc.CodeParseError, err)
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
	if _, err := jsonrpc.DecodeMessage(message); err != nil {
		m.refuse(idOf(message), jsonrpc.CodeInvalidRequest, err)
		return
	}
	m.rest = append(append(m.rest, message...), '\n')
}

// idOf is the id of what is no message, if it has one.
func idOf(line []byte) any {
	var m struct {
		ID any `json:"id"`
	}
	if json.Unmarshal(line, &m) != nil {
		return nil
	}
	if _, err := jsonrpc.MakeID(m.ID); err != nil {
		return nil
	}
	return m.ID
}

// refuse answers what is no message. That a client takes no more shows in the end of its
// input.
func (m *messages) refuse(id any, code int, err error) {
	data, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": "no message of JSON-RPC: " + err.Error()},
	})
	if err != nil {
		panic(err)
	}
	_, _ = m.out.Write(append(data, '\n'))
}

// A lineWriter keeps lines of several writers apart.
type lineWriter struct {
	mu sync.Mutex
	io.WriteCloser
}

func (w *lineWriter) Write(line []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(line)
}
