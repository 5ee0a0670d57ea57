package mcp

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"agenthost/bus"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A worded response has what the SDK refuses by itself, which it says as plain text, as the
// errors of JSON-RPC that the same message gets on stdio.
type worded struct {
	http.ResponseWriter
	request []byte // its body
	status  int    // of a plain text
}

// Unwrap is for http.ResponseController.
func (w *worded) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *worded) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain") {
		w.status = status // which depends on the text
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *worded) Write(data []byte) (int, error) {
	if w.status == 0 {
		return w.ResponseWriter.Write(data)
	}
	id, code, why := w.fault(strings.TrimSpace(string(data)))
	if id != nil { // it is the answer to a request
		w.status = http.StatusOK
	}
	answerJSON(w.ResponseWriter, w.status, errorOf(id, code, why))
	w.status = 0
	return len(data), nil
}

// fault is what a text of the SDK means. The id is nil for what is no request.
func (w *worded) fault(text string) (id any, code int, why string) {
	m, err := decode(w.request)
	r, ok := m.(*jsonrpc.Request)
	switch method, unknown := strings.CutPrefix(text, jsonrpcNotHandled); {
	case strings.HasPrefix(text, "malformed payload") && err != nil && json.Valid(w.request):
		return nil, jsonrpc.CodeInvalidRequest, noMessage + err.Error()
	case strings.HasPrefix(text, "malformed payload"):
		return nil, jsonrpc.CodeParseError, noMessage + "the body is no JSON"
	case unknown && ok && r.IsCall():
		return r.ID.Raw(), jsonrpc.CodeMethodNotFound, "method not found: " + strings.TrimSuffix(method, " unsupported")
	case strings.HasPrefix(text, "invalid request") && ok && r.IsCall():
		return r.ID.Raw(), jsonrpc.CodeInvalidRequest, text
	case strings.HasPrefix(text, "invalid request"), unknown:
		return nil, jsonrpc.CodeInvalidRequest, text
	}
	return nil, codeRefused, text
}

// jsonrpcNotHandled begins the SDK's text about a method that there is not.
const jsonrpcNotHandled = "JSON RPC not handled: "

// noMessage begins what is said of what is no message.
const noMessage = "no message of JSON-RPC: "

// decode reads a message. Its errors are for the one who wrote it, who knows no type of Go.
func decode(message []byte) (jsonrpc.Message, error) {
	var fields struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(message, &fields); err != nil {
		return nil, errors.New(bus.JSONFault(err))
	}
	if err := checkID(fields.ID); err != nil {
		return nil, err
	}
	m, err := jsonrpc.DecodeMessage(message)
	return m, err //nolint:wrapcheck // it is shown
}

// errorOf is an error of JSON-RPC.
func errorOf(id any, code int, why string) []byte {
	data, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": why},
	})
	if err != nil {
		panic(err) // ids are texts and numbers
	}
	return append(data, '\n')
}
