package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
	"agenthost/llm/openai"
)

const key = "sk-planted-0123456789"

// serve is a provider for a server that answers every call with handler. Both
// are gone, with their connections, when the test ends.
func serve(t testing.TB, handler http.HandlerFunc) *openai.Provider {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return provider(t, llm.Config{BaseURL: server.URL + "/v1", APIKey: key}, transport)
}

func provider(t testing.TB, cfg llm.Config, transport http.RoundTripper) *openai.Provider {
	t.Helper()
	p, err := openai.New(cfg, transport)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// stream answers 200 with the body as an event stream.
func stream(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, body)
	}
}

func respond(status int, header http.Header, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for k := range header {
			w.Header().Set(k, header.Get(k))
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// stall answers with the body, and then with nothing until the client leaves.
func stall(body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		stream(body)(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}
}

// events are chunks as a well-behaved server sends them.
func events(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "data: %s\n\n", c)
	}
	return b.String()
}

// delta is a chunk with a delta.
func delta(d string) string { return `{"choices":[{"index":0,"delta":` + d + `}]}` }

// of is chunk with an id, as it is written.
func of(id, chunk string) string { return `{"id":` + id + "," + chunk[1:] }

// say is a chunk with a text.
func say(text string) string { return delta(fmt.Sprintf(`{"content":%q}`, text)) }

// finish is a chunk with a reason.
func finish(reason string) string {
	return fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason)
}

func read(t testing.TB, p llm.Provider, req llm.Request) llmtest.Answer {
	t.Helper()
	a := llmtest.Read(p.Stream(t.Context(), req))
	if a.Fault != nil {
		t.Error(a.Fault)
	}
	return a
}

// A roundTripper is a server without a network.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// body is a transport whose every answer is the reader's bytes.
func body(r func() io.Reader) roundTripper {
	return func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(r())}, nil
	}
}
