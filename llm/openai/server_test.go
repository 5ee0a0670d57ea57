package openai_test

import (
	"fmt"
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

// What a server does.
var stream, respond, stall, read, readError = llmtest.Stream, llmtest.Respond, llmtest.Stall, llmtest.Answered, llmtest.Failed

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

type roundTripper = llmtest.RoundTripper

var body = llmtest.Body
