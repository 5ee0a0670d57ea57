package anthropic_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/anthropic"
	"agenthost/llm/llmtest"
)

const key = "sk-ant-planted-0123456789"

// serve is a provider for a server that answers every call with handler. Both
// are gone, with their connections, when the test ends.
func serve(t testing.TB, handler http.HandlerFunc) *anthropic.Provider {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return at(t, server.URL)
}

func at(t testing.TB, baseURL string) *anthropic.Provider {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	t.Cleanup(transport.CloseIdleConnections)
	return provider(t, llm.Config{BaseURL: baseURL, APIKey: key}, transport)
}

func provider(t testing.TB, cfg llm.Config, transport http.RoundTripper) *anthropic.Provider {
	t.Helper()
	p, err := anthropic.New(cfg, transport)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// What a server does.
var stream, respond, stall, read, readError = llmtest.Stream, llmtest.Respond, llmtest.Stall, llmtest.Answered, llmtest.Failed

// events are named as the API does it: by the type in their data.
func events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		name, _, _ := strings.Cut(strings.TrimPrefix(d, `{"type":"`), `"`)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, d)
	}
	return b.String()
}

func start(usage string) string {
	return `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"usage":{` + usage + `}}}`
}

// startOf is a start with an id, as it is written.
func startOf(id string) string {
	return `{"type":"message_start","message":{"id":` + id + `,"usage":{}}}`
}

func begin(index int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, block)
}

func delta(index int, d string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, d)
}

func done(index int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index) }

func say(text string) string { return delta(0, fmt.Sprintf(`{"type":"text_delta","text":%q}`, text)) }

func args(index int, json string) string {
	return delta(index, fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, json))
}

func stop(reason string) string {
	return fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":5}}`, reason)
}

const (
	textBlock = `{"type":"text","text":""}`
	toolBlock = `{"type":"tool_use","id":"toolu_1","name":"f","input":{}}`
	end       = `{"type":"message_stop"}`
)

// answered is a whole stream that says text.
func answered(text string) string {
	return events(start(`"input_tokens":3`), begin(0, textBlock), say(text), done(0), stop("end_turn"), end)
}

func fixture(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".sse")
	if err != nil {
		t.Fatal(err)
	}
	return b
}

type roundTripper = llmtest.RoundTripper

var body = llmtest.Body
