package gemini_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/gemini"
	"agenthost/llm/llmtest"
)

const key = "AIzaPlanted-0123456789"

// serve is a provider for a server that answers every call with handler. Both
// are gone, with their connections, when the test ends.
func serve(t testing.TB, handler http.HandlerFunc) *gemini.Provider {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return served(t, server.URL)
}

func served(t testing.TB, url string) *gemini.Provider {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return provider(t, llm.Config{BaseURL: url, APIKey: key}, transport)
}

func provider(t testing.TB, cfg llm.Config, transport http.RoundTripper) *gemini.Provider {
	t.Helper()
	p, err := gemini.New(cfg, transport)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What a server does.
var stream, respond, stall, read, readError = llmtest.Stream, llmtest.Respond, llmtest.Stall, llmtest.Answered, llmtest.Failed

// events are chunks as the API sends them.
func events(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		fmt.Fprintf(&b, "data: %s\r\n\r\n", c)
	}
	return b.String()
}

// parts is a chunk with these parts.
func parts(ps ...string) string {
	return `{"candidates":[{"content":{"parts":[` + strings.Join(ps, ",") + `],"role":"model"},"index":0}]}`
}

// text is a part with a text.
func text(s string) string { return fmt.Sprintf(`{"text":%s}`, quoted(s)) }

// call is a part with a call.
func call(name, args string) string {
	return fmt.Sprintf(`{"functionCall":{"name":%q,"args":%s}}`, name, args)
}

// of is chunk with an id, as it is written.
func of(id, chunk string) string { return `{"responseId":` + id + "," + chunk[1:] }

// say is a chunk with a text.
func say(s string) string { return parts(text(s)) }

// finish is a chunk with a reason.
func finish(reason string) string {
	return fmt.Sprintf(`{"candidates":[{"finishReason":%q,"index":0}]}`, reason)
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

type roundTripper = llmtest.RoundTripper

var body = llmtest.Body

// sent is the body of the request that p.Stream(req) makes.
func sent(t testing.TB, cfg llm.Config, req llm.Request) string {
	t.Helper()
	var got string
	p := provider(t, cfg, roundTripper(func(r *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(r.Body)
		got = strings.TrimSpace(string(b))
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(events(finish("STOP"))))}, err
	}))
	if a := read(t, p, req); a.Err != nil {
		t.Fatal(a.Err)
	}
	return got
}
