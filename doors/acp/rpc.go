package acp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"

	"agenthost/bus"
	"agenthost/doors"
)

// longestLine bounds a message: a prompt may hold images.
const longestLine = 32 << 20

// The codes of errors.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeMethod   = -32601
	codeParams   = -32602
	codeInternal = -32603
	codeNotFound = -32002
)

// An rpcError is the error of a request.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

func (e *rpcError) Error() string { return e.Message }

func wrong(format string, args ...any) error {
	return &rpcError{Code: codeParams, Message: fmt.Sprintf(format, args...)}
}

// A message is a request, a notification or a response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *rpcError       `json:"error,omitempty"`
}

func (m message) isCall() bool { return len(m.ID) > 0 && !bytes.Equal(m.ID, []byte("null")) }

// A conn is the two streams of an editor.
type conn struct {
	in  *doors.Lines
	out io.Writer

	writing sync.Mutex
	mu      sync.Mutex
	last    int64
	calls   map[string]chan message // of ours, by their ids

	ended chan struct{} // closed at the end of the input
	lost  chan struct{} // closed when the editor takes no more
	lose  func()
}

// errInputEnded is the error of calls that the editor cannot answer any more.
var errInputEnded = errors.New("the input has ended")

func newConn(in io.Reader, out io.Writer) *conn {
	c := &conn{
		in: doors.NewLines(in, longestLine), out: out, calls: map[string]chan message{},
		ended: make(chan struct{}), lost: make(chan struct{}),
	}
	c.lose = sync.OnceFunc(func() { close(c.lost) })
	return c
}

// read passes the requests and notifications that come to handle, one after the other,
// until the input ends. It is called once.
func (c *conn) read(handle func(message)) error {
	defer close(c.ended)
	for {
		line, err := c.in.Next()
		switch {
		case errors.Is(err, doors.ErrTooLong):
			c.fail(nil, &rpcError{Code: codeParse, Message: err.Error()})
			continue
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if !utf8.Valid(line) {
			c.fail(nil, &rpcError{Code: codeParse, Message: "no message of JSON-RPC: the line is not UTF-8"})
			continue
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			code := codeRequest
			if !json.Valid(line) {
				code = codeParse
			}
			c.fail(nil, &rpcError{Code: code, Message: "no message of JSON-RPC: " + bus.JSONFault(err)})
			continue
		}
		switch {
		case m.Method != "":
			handle(m)
		case m.isCall():
			c.settle(m)
		default:
			c.fail(nil, &rpcError{Code: codeRequest, Message: "message has neither a method nor an id"})
		}
	}
}

// settle passes a response to the call that it is for.
func (c *conn) settle(m message) {
	c.mu.Lock()
	answered := c.calls[string(m.ID)]
	delete(c.calls, string(m.ID))
	c.mu.Unlock()
	if answered != nil {
		answered <- m
	}
}

// call calls a method of the editor, until ctx or the input ends.
func (c *conn) call(ctx context.Context, method string, params, result any) error {
	c.mu.Lock()
	c.last++
	id := fmt.Sprint(c.last)
	answered := make(chan message, 1)
	c.calls[id] = answered
	c.mu.Unlock()
	c.send(message{ID: json.RawMessage(id), Method: method, Params: encode(params)})
	var m message
	select {
	case m = <-answered:
	case <-ctx.Done():
		c.forget(id)
		return ctx.Err()
	case <-c.ended:
		select {
		case m = <-answered: // it was the last that came
		default:
			c.forget(id)
			return errInputEnded
		}
	}
	if m.Error != nil {
		return m.Error
	}
	return json.Unmarshal(m.Result, result)
}

func (c *conn) forget(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.calls, call)
}

func (c *conn) notify(method string, params any) {
	c.send(message{Method: method, Params: encode(params)})
}

// reply answers a request.
func (c *conn) reply(id json.RawMessage, result any, err error) {
	if err == nil {
		c.send(message{ID: id, Result: encode(result)})
		return
	}
	e := rpcError{Code: codeInternal}
	if errors.Is(err, bus.ErrMalformed) { // a prompt that cannot be a message
		e.Code = codeParams
	}
	if inner := (*rpcError)(nil); errors.As(err, &inner) {
		e = *inner
	}
	e.Message = err.Error() // with what is around it
	c.fail(id, &e)
}

func (c *conn) fail(id json.RawMessage, e *rpcError) {
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	c.send(message{ID: id, Error: e})
}

// send writes a message.
func (c *conn) send(m message) {
	m.Version = "2.0"
	data := encode(m)
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.out.Write(append(data, '\n')); err != nil {
		c.lose()
	}
}

// encode is for what always is JSON.
func encode(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
