package openai_test

import (
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/doors/doorstest"
)

const withTools = `
rules:
  - {is: "weather?", tool_calls: [{name: weather, args: {city: Oslo}}, {name: now, args: {}}, {name: rain, args: {city: Rome}}], usage: {input: 7, output: 5}}
  - {after_tool: rain, text: "rain: ${result}", usage: {input: 11, output: 3}}
  - {text: "ana: ${text}"}
`

// scripted is the configuration of an agent whose model follows a script.
func scripted(t testing.TB, script string) *config.Config {
	t.Helper()
	file := bustest.WriteFile(t, "play.yaml", script)
	cfg, err := config.Parse(filepath.Join(filepath.Dir(file), "agenthost.yaml"), []byte(`
nats: {embedded: {listen: "", store: `+filepath.Join(filepath.Dir(file), "data")+`}}
http: {listen: "127.0.0.1:0"}
models: {main: {provider: scripted, script: play.yaml}}
agents: [{id: ana, model: main, tools: [now]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

var clientTools = []object{
	{"type": "function", "function": object{"name": "weather", "description": "The weather.", "parameters": object{"type": "object", "properties": object{"city": object{"type": "string"}}}}},
	{"type": "function", "function": object{"name": "rain", "parameters": object{"type": "object"}}},
	{"type": "function", "function": object{"name": "now", "parameters": object{"type": "object"}}}, // the agent has its own
}

// The tools of the client are run by it, those of the agent never seen; between the
// call and its result the host may be restarted.
func TestClientTools(t *testing.T) {
	t.Parallel()
	for name, stream := range map[string]bool{"whole": false, "stream": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := scripted(t, withTools)
			h := doorstest.Serve(t, cfg)
			messages := []object{says("user", "weather?")}
			req := object{"model": "ana", "messages": messages, "tools": clientTools, "stream": stream}
			a := ask(t, h, "POST", chatPath, req, nil)
			calls, finish := callsOf(t, a, stream)
			if len(calls) != 2 || finish != "tool_calls" {
				t.Fatalf("got %d calls, %v: %s", len(calls), finish, a.Body)
			}
			first, _ := calls[0].(object)["function"].(object)
			if first["name"] != "weather" || first["arguments"] != `{"city":"Oslo"}` {
				t.Errorf("got %v", first)
			}
			h.Stop()
			h = doorstest.Serve(t, cfg)
			messages = append(messages, object{"role": "assistant", "content": nil, "tool_calls": calls})
			for i, c := range calls {
				messages = append(messages, object{"role": "tool", "tool_call_id": c.(object)["id"], "content": []string{"sun", "none"}[i]})
			}
			req["messages"], req["stream"] = messages, false
			a = ask(t, h, "POST", chatPath, req, header{"Idempotency-Key": "k"})
			if a.content(t) != "rain: none" || a.get(t, "usage", "total_tokens") != 14.0 {
				t.Errorf("got %s", a.Body)
			}
			if again := ask(t, h, "POST", chatPath, req, header{"Idempotency-Key": "k"}); again.Body != a.Body {
				t.Errorf("again: got %s", again.Body)
			}
		})
	}
}

func callsOf(t *testing.T, a answer, stream bool) (calls []any, finish any) {
	t.Helper()
	if !stream {
		calls, _ = a.get(t, "choices", 0, "message", "tool_calls").([]any)
		return calls, a.get(t, "choices", 0, "finish_reason")
	}
	for _, e := range a.events() {
		for _, c := range e["choices"].([]any) {
			choice := c.(object)
			if list, ok := choice["delta"].(object)["tool_calls"].([]any); ok {
				calls = append(calls, list...)
			}
			if choice["finish_reason"] != nil {
				finish = choice["finish_reason"]
			}
		}
	}
	return calls, finish
}

func TestClientToolsOfResponses(t *testing.T) {
	t.Parallel()
	h := doorstest.Serve(t, scripted(t, withTools))
	tool := func(name string) object {
		return object{"type": "function", "name": name, "parameters": object{"type": "object"}}
	}
	req := object{"model": "ana", "input": "weather?", "tools": []object{tool("weather"), tool("rain"), {"type": "web_search"}}}
	a := ask(t, h, "POST", "/v1/responses", req, nil)
	outputs, results := a.get(t, "output").([]any), []object{}
	for _, o := range outputs {
		if item := o.(object); item["type"] == "function_call" {
			results = append(results, object{"type": "function_call_output", "call_id": item["call_id"], "output": "wet"})
		}
	}
	if len(results) != 2 {
		t.Fatalf("got %s", a.Body)
	}
	next := object{"model": "ana", "input": results, "previous_response_id": a.get(t, "id")}
	if a = ask(t, h, "POST", "/v1/responses", next, nil); a.get(t, "output", 0, "content", 0, "text") != "rain: wet" {
		t.Errorf("got %s", a.Body)
	}
	id, _ := a.get(t, "id").(string)
	if got := ask(t, h, "GET", "/v1/responses/"+id, nil, nil); got.get(t, "previous_response_id") != next["previous_response_id"] {
		t.Errorf("got %s", got.Body)
	}
	req["stream"] = true
	s := ask(t, h, "POST", "/v1/responses", req, nil)
	types := []string{}
	for _, e := range s.events() {
		types = append(types, e["type"].(string))
	}
	if got := strings.Join(types, " "); strings.Count(got, "response.function_call_arguments.done") != 2 || !strings.HasSuffix(got, "response.completed") {
		t.Errorf("got %s", got)
	}
}

// A tool without arguments may say so with null, as the API has it.
func TestClientToolWithoutParameters(t *testing.T) {
	t.Parallel()
	h := doorstest.Serve(t, scripted(t, withTools))
	for name, a := range map[string]answer{
		"chat": ask(t, h, "POST", chatPath, `{"model":"ana","messages":[{"role":"user","content":"hi"}],
			"tools":[{"type":"function","function":{"name":"ping","description":null,"parameters":null,"strict":null}}]}`, nil),
		"response": ask(t, h, "POST", "/v1/responses", `{"model":"ana","input":"hi",
			"tools":[{"type":"function","name":"ping","description":null,"parameters":null,"strict":null}]}`, nil),
	} {
		if a.Status != 200 {
			t.Errorf("%s: got %d %s", name, a.Status, a.Body)
		}
	}
}

func TestResultOfAnotherServer(t *testing.T) {
	t.Parallel()
	h := doorstest.Serve(t, scripted(t, withTools))
	req := object{"model": "ana", "messages": []object{
		says("user", "x"),
		{"role": "assistant", "tool_calls": []object{{"id": "call_7", "type": "function", "function": object{"name": "f", "arguments": "{}"}}}},
		{"role": "tool", "tool_call_id": "call_7", "content": "done"},
	}}
	if a := ask(t, h, "POST", chatPath, req, nil); a.content(t) != "ana: [result: done]" {
		t.Errorf("got %s", a.Body)
	}
}

func TestImages(t *testing.T) {
	t.Parallel()
	h := doorstest.Start(t, "")
	const png = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
	image := func(url string) object { return object{"type": "image_url", "image_url": object{"url": url}} }
	req := object{"model": "ana", "messages": []object{{"role": "user", "content": []object{
		{"type": "text", "text": "look"}, image("data:image/png;base64," + png), image("https://example.org/a.png"),
	}}}}
	a := ask(t, h, "POST", chatPath, req, nil)
	if a.Status != 200 {
		t.Fatalf("got %+v", a)
	}
	state, _, err := h.Client.Sessions().State(t.Context(), "ana", sessionOf(t, h, a))
	if err != nil {
		t.Fatal(err)
	}
	media := state.Messages[0].Media()
	if len(media) != 2 || media[0].Object == "" || media[0].MIME != "image/png" || media[1].URL != "https://example.org/a.png" {
		t.Errorf("got %+v", media)
	}
}
