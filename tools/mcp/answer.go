package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	longestRefusal = 1 << 20 // what is read of the body of an error
	shownRefusal   = 300     // what is shown of one that is text
)

// An httpError is a response with an error status and without an answer to the
// request: a proxy, an access check or the transport of the server made it.
type httpError struct {
	code    int
	session bool   // the request named a session
	said    string // the message of a JSON-RPC error without the id of the request
	text    string
}

func (e *httpError) Error() string {
	status := fmt.Sprintf("%d %s", e.code, http.StatusText(e.code))
	if text := e.said + e.text; text != "" {
		return status + ": " + text
	}
	return status
}

// refused reports whether the server did not take the request. Below 500 it
// found fault with it; from there on it may have run it and stumbled later.
func (e *httpError) refused() bool { return e.code < 500 }

// A head holds the fields by which JSON-RPC messages differ.
type head struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Error  *jsonrpc.Error  `json:"error"`
}

// sentHead is the head of the message that req carries.
func sentHead(req *http.Request) (h head) {
	if req.GetBody == nil {
		return h
	}
	body, err := req.GetBody()
	if err != nil {
		return h
	}
	defer func() { _ = body.Close() }()
	_ = json.NewDecoder(body).Decode(&h) // made by the library: never fails
	return h
}

// answered turns a response with an error status into the answer that it
// carries, or into an error of this request alone. To the library most statuses
// would be the end of the session, and of all calls in flight.
func answered(req *http.Request, sent head, resp *http.Response) (*http.Response, *jsonrpc.Error, error) {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, longestRefusal)) // half a text is better than none
	_ = resp.Body.Close()
	var got head
	_ = json.Unmarshal(body, &got) // what is no JSON is text
	if got.Error != nil && len(sent.ID) > 0 && bytes.Equal(got.ID, sent.ID) {
		resp.StatusCode, resp.Status = http.StatusOK, "200 OK"
		resp.Header.Set("Content-Type", "application/json")
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return resp, got.Error, nil
	}
	e := &httpError{code: resp.StatusCode, session: req.Header.Get("Mcp-Session-Id") != ""}
	switch {
	case got.Error != nil:
		e.said = got.Error.Message
	case strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain"):
		e.text = strings.ToValidUTF8(strings.TrimSpace(string(body[:min(len(body), shownRefusal)])), "")
	}
	return nil, nil, e
}
