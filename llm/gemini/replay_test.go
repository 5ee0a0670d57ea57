package gemini_test

import (
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"

	"github.com/google/go-cmp/cmp"
)

// TestReplay sends an answer back, with the results of its calls: what was
// signed has its signature, on the same part, and no thought is repeated.
func TestReplay(t *testing.T) {
	const sig = `"thoughtSignature":"c2ln"`
	signed := func(part string) string { return strings.TrimSuffix(part, "}") + "," + sig + "}" }
	thought := func(s string) string { return `{"text":` + quoted(s) + `,"thought":true}` }
	const image = `{"inlineData":{"mimeType":"image/png","data":"cG5n"}}`
	const weather = `{"functionCall":{"name":"get_weather","args":{"city":"Paris"}}}`
	tests := map[string]struct{ answer, model, results string }{
		"no signature":            {events(say("Hi "), say("you.")), `{"text":"Hi you."}`, ""},
		"thoughts without one":    {events(parts(thought("hm")), say("Hi.")), `{"text":"Hi."}`, ""},
		"on a text":               {events(say("Hi "), parts(signed(text("you.")))), signed(text("Hi you.")), ""},
		"on an empty text":        {events(say("Hi."), parts(signed(text("")))), text("Hi.") + "," + signed(text("")), ""},
		"on nothing at all":       {events(say("Hi."), parts("{"+sig+"}")), text("Hi.") + "," + signed(text("")), ""},
		"on a text, then another": {events(parts(signed(text("Hi "))), say("you.")), signed(text("Hi ")) + "," + text("you."), ""},
		"on a thought":            {events(parts(thought("hm ")), parts(signed(thought("so"))), say("Hi.")), `{"text":"","thought":true,` + sig + `},` + text("Hi."), ""},
		"on an empty thought":     {events(parts(signed(thought(""))), say("Hi.")), `{"text":"","thought":true,` + sig + `},` + text("Hi."), ""},
		"on an image":             {events(say("Here."), parts(signed(image))), text("Here.") + "," + signed(image), ""},
		"on an image of thoughts": {events(parts(`{"thought":true,`+image[1:]), say("Hi.")), text("Hi."), ""},
		"on a call": {
			events(parts(thought("hm")), parts(signed(weather), call("now", "{}"))),
			signed(weather) + "," + call("now", "{}"),
			`{"functionResponse":{"name":"get_weather","response":{"result":"fine"}}},{"functionResponse":{"name":"now","response":{"result":"fine"}}}`,
		},
		"calls with ids": {
			events(parts(`{"functionCall":{"id":"x1","name":"now"},` + sig + `}`)),
			`{"functionCall":{"id":"x1","name":"now","args":{}},` + sig + `}`,
			`{"functionResponse":{"id":"x1","name":"now","response":{"result":"fine"}}}`,
		},
		"a call whose id is a number": {
			events(parts(`{"functionCall":{"id":7,"name":"now"}}`)),
			`{"functionCall":{"id":"7","name":"now","args":{}}}`,
			`{"functionResponse":{"id":"7","name":"now","response":{"result":"fine"}}}`,
		},
		"calls that share an id": {
			events(parts(`{"functionCall":{"id":"x1","name":"now"}}`, `{"functionCall":{"id":"x1","name":"f"}}`)),
			`{"functionCall":{"id":"x1","name":"now","args":{}}},{"functionCall":{"id":"x1","name":"f","args":{}}}`,
			`{"functionResponse":{"id":"x1","name":"now","response":{"result":"fine"}}},{"functionResponse":{"id":"x1","name":"f","response":{"result":"fine"}}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := read(t, serve(t, stream(tt.answer+events(finish("STOP")))), llmtest.ToolRequest())
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			results := llm.Message{Role: llm.Tool}
			for _, c := range a.Message.Calls() {
				results.Parts = append(results.Parts, llm.Part{Type: llm.ToolResult, Call: c.Call, Name: c.Name, Text: "fine"})
			}
			got := sent(t, llm.Config{}, llm.Request{Model: "m", Messages: []llm.Message{a.Message, results}})
			want := `{"contents":[{"role":"model","parts":[` + tt.model + `]}`
			if tt.results != "" {
				want += `,{"role":"user","parts":[` + tt.results + `]}`
			}
			if diff := cmp.Diff(want+"]}", got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestSignatureWithoutItsImage has an image that is no longer at hand.
func TestSignatureWithoutItsImage(t *testing.T) {
	a := llmtest.Read(serve(t, stream(events(
		parts(`{"inlineData":{"mimeType":"image/png","data":"cG5n"},"thoughtSignature":"c2ln"}`), say("Here."), finish("STOP"),
	))).Stream(t.Context(), llmtest.Request()))
	for _, p := range a.Message.Parts {
		if p.Media != nil {
			p.Media.Data = nil
		}
	}
	got := sent(t, llm.Config{}, llm.Request{Model: "m", Messages: []llm.Message{a.Message}})
	if want := `{"contents":[{"role":"model","parts":[{"text":"Here."}]}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestForeignMeta has something in it that is not ours.
func TestForeignMeta(t *testing.T) {
	m := llm.Message{Role: llm.Assistant, Parts: []llm.Part{
		{Type: llm.Reasoning, Meta: []byte(`["x"]`)}, {Type: llm.Text, Text: "Hi."},
	}}
	got := sent(t, llm.Config{}, llm.Request{Model: "m", Messages: []llm.Message{m}})
	if want := `{"contents":[{"role":"model","parts":[{"text":"Hi."}]}]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCallIDs gives each call an id of its own, which stays what it is.
func TestCallIDs(t *testing.T) {
	p := serve(t, stream(events(parts(call("now", "{}"), call("now", "{}")), finish("STOP"))))
	seen := map[string]bool{}
	for range 2 {
		for _, c := range read(t, p, llmtest.ToolRequest()).Message.Calls() {
			if !regexp.MustCompile(`^call_[A-Z2-7]{26}$`).MatchString(c.Call) || seen[c.Call] {
				t.Errorf("got %q, want an id of its own", c.Call)
			}
			seen[c.Call] = true
			if c.Meta != nil {
				t.Errorf("got meta %s for an id that is ours", c.Meta)
			}
		}
	}
}

func TestImageOut(t *testing.T) {
	fixture, err := os.ReadFile("testdata/image.sse")
	if err != nil {
		t.Fatal(err)
	}
	a := read(t, provider(t, llm.Config{}, body(func() io.Reader { return strings.NewReader(string(fixture)) })), llmtest.Request())
	if a.Err != nil || a.Finish != llm.FinishStop || len(a.Message.Parts) != 2 || a.Message.Parts[1].Media == nil {
		t.Fatalf("got %+v, %v, want a text and an image", a.Message, a.Err)
	}
	m := *a.Message.Parts[1].Media
	if !strings.HasPrefix(string(m.Data), "\x89PNG") {
		t.Errorf("got %q, want a PNG", m.Data)
	}
	m.Data = nil
	if diff := cmp.Diff(llm.Media{Kind: "image", MIME: "image/png", Size: 70}, m); diff != "" {
		t.Error(diff)
	}
}
