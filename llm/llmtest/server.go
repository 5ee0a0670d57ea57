package llmtest

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"agenthost/llm"
)

// Stream answers 200 with the body as an event stream.
func Stream(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

// Respond answers with a status, headers and a body.
func Respond(status int, header http.Header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for k := range header {
			w.Header().Set(k, header.Get(k))
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Stall answers with the body, and then with nothing until the client leaves.
func Stall(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		Stream(body)(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// A RoundTripper is a server without a network.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip calls f.
func (f RoundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Body is a server whose every answer is the bytes of another reader.
func Body(reader func() io.Reader) RoundTripper {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(reader())}, nil
	}
}

// Answered is the answer of p, which keeps the rules of a stream.
func Answered(t testing.TB, p llm.Provider, req llm.Request) Answer {
	t.Helper()
	a := Read(p.Stream(t.Context(), req))
	if a.Fault != nil {
		t.Error(a.Fault)
	}
	return a
}

// Failed is the error that p answers Request with.
func Failed(t testing.TB, p llm.Provider) *llm.Error {
	t.Helper()
	a := Answered(t, p, Request())
	e, ok := errors.AsType[*llm.Error](a.Err)
	if !ok {
		t.Fatalf("got %v, want an *llm.Error", a.Err)
	}
	return e
}
