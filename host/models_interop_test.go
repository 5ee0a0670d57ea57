//go:build interop

package host_test

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/waittest"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// modelsVariable is the URL of an aimock, a model server that others wrote, with
// the fixtures of .ci/models.json.
const modelsVariable = "AGENTHOST_MODELS"

// basePaths are the providers that aimock speaks the API of, and what each has
// behind the address in its base_url.
var basePaths = map[string]string{
	"anthropic": "",
	"gemini":    "",
	"openai":    "/v1",
}

// A modelCase is what a message to an agent with the models first and second
// comes to. Of a model that fails it may be tried how often the chain likes,
// three times at most.
type modelCase struct {
	text    string   // of the only final message; empty: its code is told instead
	code    llm.Code // of the run
	calls   []modelCall
	results int // of tools
	usage   llm.Usage
}

// A modelCall is one request that the server saw.
type modelCall struct {
	Model  string
	Status int
}

var (
	second = modelCall{"second", 200}
	first  = modelCall{"first", 200}
)

var modelCases = map[string]modelCase{
	"hello":   {text: "Hello from the model.", calls: []modelCall{first}, usage: llm.Usage{Input: 21, Output: 7}},
	"time":    {text: "It is late.", calls: []modelCall{first, first}, results: 2},
	"slow":    {text: "At last.", calls: []modelCall{first}},
	"limited": {text: "Second here.", calls: []modelCall{{"first", 429}, second}},
	"failing": {text: "Second here.", calls: []modelCall{{"first", 500}, second}},
	"unknown": {text: "Second here.", calls: []modelCall{{"first", 401}, second}},
	"garbled": {text: "Second here.", calls: []modelCall{first, second}},
	"dropped": {text: "Second here.", calls: []modelCall{first, second}},
	"refused": {code: llm.CodeValidation, calls: []modelCall{{"first", 400}}},
	"cut":     {code: llm.CodeProviderUnavailable, calls: []modelCall{first}},
}

// TestInteropModels has one host and one message for each case, on the way from
// channel to channel.
func TestInteropModels(t *testing.T) {
	for provider := range basePaths {
		for text, want := range modelCases {
			t.Run(provider+" "+text, func(t *testing.T) {
				server := resetModels(t)
				h, stop := start(t, withModels(t, server, provider))
				final := finalFor(t, h, text)
				checkEnd(t, want, final, sessionEvents(t, h, session.Key(final.Session)))
				stop() // nothing is asked any more
				checkCalls(t, want, server)
			})
		}
	}
}

// TestInteropModelsRetryAfter has a model that is limited once. Whether the host waits
// for it or goes on to the second is its own choice; one of them answers, once.
func TestInteropModelsRetryAfter(t *testing.T) {
	for provider := range basePaths {
		t.Run(provider, func(t *testing.T) {
			server := resetModels(t)
			h, stop := start(t, withModels(t, server, provider))
			final := finalFor(t, h, "again "+provider) // what comes once is counted for good
			stop()
			last := second
			if final.Text == "First here." {
				last = first
			}
			want := modelCase{calls: []modelCall{{"first", 429}, last}}
			checkCalls(t, want, server)
		})
	}
}

func withModels(t *testing.T, server, provider string) *config.Config {
	t.Helper()
	cfg := demo(t)
	cfg.Models = map[string]llm.Config{}
	for _, name := range []string{"first", "second"} {
		cfg.Models[name] = llm.Config{
			Provider: provider, Model: name, APIKey: "sk-test", BaseURL: server + basePaths[provider], MaxTokens: 100,
		}
	}
	cfg.Agents[0].Model = agents.Names{"first", "second"}
	cfg.Agents[0].Tools = []string{"now"}
	return cfg
}

// finalFor sends a text and waits for its end; there is exactly one.
func finalFor(t *testing.T, h *host.Host, text string) bus.Outbound {
	t.Helper()
	out := outbound(t, h.Bus().NC, 1)
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m1", From: "ana", Text: text})
	got := out()[0]
	waittest.Until(t, "acknowledged", func() bool { return ackPending(t, h, "demo") == 0 })
	if n := stored(t, h, bus.OutboundStream); n != 1 || !got.Final || got.InReplyTo != "m1" {
		t.Errorf("got %d messages, the first %+v; want one, final", n, got)
	}
	return got
}

func checkEnd(t *testing.T, want modelCase, final bus.Outbound, events []run.Event) {
	t.Helper()
	var code llm.Code
	if final.Error != nil {
		code = llm.Code(final.Error.Code)
	}
	if want.text != "" && final.Text != want.text || code != want.code {
		t.Errorf("got %q with the code %q, want %q with %q", final.Text, code, want.text, want.code)
	}
	var finished, results int
	var usage llm.Usage
	for _, e := range events {
		switch e.Type {
		case run.Finished:
			finished++
		case run.ToolFinished:
			if e.OK {
				results++
			}
		case run.ModelCalled:
			if e.Usage != nil {
				usage = *e.Usage
			}
		}
	}
	if finished != 1 || results != want.results {
		t.Errorf("got %d ends and %d good results of tools, want 1 and %d", finished, results, want.results)
	}
	if want.usage != (llm.Usage{}) && usage != want.usage {
		t.Errorf("got %+v, want %+v", usage, want.usage)
	}
}

// checkCalls counts what fails once, however often it was tried.
func checkCalls(t *testing.T, want modelCase, server string) {
	t.Helper()
	const tries = 3
	calls := seenCalls(t, server)
	for _, c := range calls {
		n := 0
		for _, other := range calls {
			if c == other {
				n++
			}
		}
		if n > tries {
			t.Errorf("%+v: %d times, want %d at most", c, n, tries)
		}
	}
	got := calls
	if want.results == 0 {
		got = slices.Compact(slices.Clone(calls))
	}
	if diff := cmp.Diff(want.calls, got); diff != "" {
		t.Errorf("%s\nof %+v", diff, calls)
	}
}

// sessionEvents are the log of a session, once its run has ended.
func sessionEvents(t *testing.T, h *host.Host, key session.Key) []run.Event {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cons, err := h.Bus().JS.OrderedConsumer(ctx, bus.SessionsStream, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{session.Subject("demo", session.SID("demo", key))},
	})
	if err != nil {
		t.Fatal(err)
	}
	var events []run.Event
	for {
		msg, err := cons.Next()
		if err != nil {
			t.Fatal(err)
		}
		var c session.Commit
		if err := json.Unmarshal(msg.Data(), &c); err != nil {
			t.Fatal(err)
		}
		events = append(events, c.Events...)
		if slices.ContainsFunc(c.Events, func(e run.Event) bool { return e.Type == run.Finished }) {
			return events
		}
	}
}

// resetModels has the server forget what it was asked.
func resetModels(t *testing.T) string {
	t.Helper()
	server := strings.TrimSuffix(os.Getenv(modelsVariable), "/")
	if server == "" {
		t.Fatalf("%s is not set to the address of an aimock", modelsVariable)
	}
	res, err := http.Post(server+"/__aimock/reset/journal", "application/json", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		t.Fatal(res.Status)
	}
	return server
}

func seenCalls(t *testing.T, server string) []modelCall {
	t.Helper()
	res, err := http.Get(server + "/__aimock/journal")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var journal []struct {
		Body     struct{ Model string }
		Response struct{ Status int }
	}
	if err := json.NewDecoder(res.Body).Decode(&journal); err != nil {
		t.Fatal(err)
	}
	var calls []modelCall
	for _, entry := range journal {
		calls = append(calls, modelCall{entry.Body.Model, entry.Response.Status})
	}
	return calls
}
