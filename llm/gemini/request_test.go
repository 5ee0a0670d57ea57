package gemini_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/gemini"

	"github.com/google/go-cmp/cmp"
)

func TestRequestBody(t *testing.T) {
	hi := []llm.Message{llm.UserText("hi")}
	const contents = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]`
	object := json.RawMessage(`{"type":"object"}`)
	tests := map[string]struct {
		cfg  llm.Config
		req  llm.Request
		want string
	}{
		"least": {llm.Config{}, llm.Request{Model: "m", Messages: hi}, contents + `}`},
		"system": {
			llm.Config{},
			llm.Request{Model: "m", System: "<be> kind", Messages: hi},
			`{"systemInstruction":{"parts":[{"text":"<be> kind"}]},"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`,
		},
		"settings": {
			llm.Config{Model: "m", MaxTokens: 100, Temperature: new(0.0)},
			llm.Request{Messages: hi},
			contents + `,"generationConfig":{"maxOutputTokens":100,"temperature":0}}`,
		},
		"schema": {
			llm.Config{},
			llm.Request{Model: "m", Messages: hi, Schema: object},
			contents + `,"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":{"type":"object"}}}`,
		},
		"tools, and no schema beside them": {
			llm.Config{},
			llm.Request{Model: "m", Messages: hi, Schema: object, Tools: []llm.ToolDef{
				{Name: "web.get", Description: "gets", Schema: json.RawMessage(`{"$schema":"http://x","type":"object","additionalProperties":false}`)},
				{Name: "f"},
				{Name: "g", Schema: object},
			}},
			contents + `,"tools":[{"functionDeclarations":[` +
				`{"name":"web__get","description":"gets","parametersJsonSchema":{"additionalProperties":false,"type":"object"}},` +
				`{"name":"f"},{"name":"g","parametersJsonSchema":{"type":"object"}}]}]}`,
		},
		"who speaks": {
			llm.Config{},
			llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Name: "Ana", Parts: hi[0].Parts}}},
			`{"contents":[{"role":"user","parts":[{"text":"Ana: hi"}]}]}`,
		},
		"nothing to send": {
			llm.Config{},
			llm.Request{Model: "m", Messages: []llm.Message{
				hi[0],
				{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Reasoning, Text: "hm"}, {Type: llm.Text}}},
				{Role: llm.User, Parts: []llm.Part{{Type: llm.Text}}},
				{Role: llm.Tool},
			}},
			contents + `}`,
		},
		"texts": {
			llm.Config{},
			llm.Request{Model: "m", System: "\"s\"\n\xff\u2028", Messages: []llm.Message{
				llm.UserText("\"a\"\n\xff\u2028é"),
				{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: "<b>"}}},
				{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: "\\"}, {Type: llm.Text}, {Type: llm.Text, Text: "&"}}},
				{Role: llm.User, Name: "Ana<", Parts: []llm.Part{{Type: llm.Text, Text: "hi"}, {Type: llm.Text, Text: " "}}},
				llm.UserText(""),
				{Role: llm.User, Name: "Bo"},
			}},
			`{"systemInstruction":{"parts":[{"text":"\"s\"\n\ufffd\u2028"}]},"contents":[{"role":"user","parts":[{"text":"\"a\"\n\ufffd\u2028é"}]},` +
				`{"role":"model","parts":[{"text":"<b>"}]},{"role":"model","parts":[{"text":"\\"},{"text":"&"}]},` +
				`{"role":"user","parts":[{"text":"Ana<: hi"},{"text":" "}]},{"role":"user","parts":[{"text":"Bo: "}]}]}`,
		},
		"nothing said": {llm.Config{}, llm.Request{Model: "m"}, `{"contents":[]}`},
		"results around other messages": {
			llm.Config{},
			llm.Request{Model: "m", Messages: []llm.Message{
				{Role: llm.Tool, Parts: []llm.Part{{Type: llm.ToolResult, Name: "f", Text: "<"}}},
				llm.UserText(""),
				{Role: llm.Tool, Parts: []llm.Part{{Type: llm.ToolResult, Name: "g", Text: "&"}}},
				hi[0],
				{Role: llm.Tool, Parts: []llm.Part{{Type: llm.ToolResult, Name: "h"}}},
			}},
			`{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"result":"<"}}},{"functionResponse":{"name":"g","response":{"result":"&"}}}]},` +
				`{"role":"user","parts":[{"text":"hi"}]},{"role":"user","parts":[{"functionResponse":{"name":"h","response":{"result":""}}}]}]}`,
		},
		"media": {
			llm.Config{},
			llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{
				{Type: llm.Text, Text: "see"},
				{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", MIME: "image/jpg", Data: []byte("jpeg")}},
				{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", Data: []byte("\x89PNG\r\n\x1a\n")}},
				{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", URL: "https://x/1.png?a=b"}},
				{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", URL: "https://x/1"}},
				{Type: llm.MediaPart, Media: &llm.Media{MIME: "application/pdf", URL: "https://x/a"}},
				{Type: llm.MediaPart, Media: &llm.Media{MIME: "audio/ogg; codecs=opus", Data: []byte("ogg")}},
				{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", MIME: "image/gif", Name: "a.gif", URL: "https://x/a.gif"}},
				{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", MIME: "image/png", Name: "b.png", Object: "o"}},
				{Type: llm.MediaPart, Media: &llm.Media{Name: "c", URL: "https://x/c"}},
				{Type: llm.MediaPart},
			}}, {Role: llm.Assistant, Parts: []llm.Part{{Type: llm.MediaPart}}}}},
			`{"contents":[{"role":"user","parts":[{"text":"see"},{"inlineData":{"mimeType":"image/jpeg","data":"anBlZw=="}},` +
				`{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="}},{"fileData":{"mimeType":"image/png","fileUri":"https://x/1.png?a=b"}},` +
				`{"fileData":{"fileUri":"https://x/1"}},{"fileData":{"mimeType":"application/pdf","fileUri":"https://x/a"}},` +
				`{"inlineData":{"mimeType":"audio/ogg","data":"b2dn"}},{"text":"[attached image \"a.gif\"]"},{"text":"[attached image \"b.png\"]"},` +
				`{"text":"[attached file \"c\"]"}]}]}`,
		},
		"calls of others": {
			llm.Config{Effort: llm.EffortLow},
			llm.Request{Model: "gemini-3-pro", Messages: []llm.Message{
				{Role: llm.Assistant, Parts: []llm.Part{
					{Type: llm.ToolCall, Call: "a", Name: "web.get", Args: json.RawMessage(`{"u":1}`)},
					{Type: llm.ToolCall, Call: "b", Name: "g", Args: json.RawMessage(`[1]`)},
					{Type: llm.ToolCall, Call: "c", Name: "h", Text: "{", Error: true},
				}},
				{Role: llm.Tool, Parts: []llm.Part{
					{Type: llm.ToolResult, Call: "b", Name: "g", Text: "two"},
					{Type: llm.ToolResult, Call: "a", Name: "web.get", Text: "no", Error: true},
				}},
				{Role: llm.Tool, Parts: []llm.Part{{Type: llm.ToolResult, Call: "c"}, {Type: llm.ToolResult, Call: "?", Name: "i.j", Text: "{}"}}},
			}},
			`{"contents":[{"role":"model","parts":[` +
				`{"functionCall":{"name":"web__get","args":{"u":1}},"thoughtSignature":"skip_thought_signature_validator"},` +
				`{"functionCall":{"name":"g","args":{}}},{"functionCall":{"name":"h","args":{}}}]},` +
				`{"role":"user","parts":[{"functionResponse":{"name":"g","response":{"result":"two"}}},` +
				`{"functionResponse":{"name":"web__get","response":{"error":"no"}}},{"functionResponse":{"name":"h","response":{"result":""}}},` +
				`{"functionResponse":{"name":"i__j","response":{"result":"{}"}}}]}],` +
				`"generationConfig":{"thinkingConfig":{"includeThoughts":true,"thinkingLevel":"LOW"}}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for range 2 { // the same each time
				if diff := cmp.Diff(tt.want, sent(t, tt.cfg, tt.req)); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

// TestSchemas has what the API would refuse the whole request for.
func TestSchemas(t *testing.T) {
	tests := map[string]struct{ schema, want string }{
		"as it is":   {`{"type":"object","minProperties":1}`, `{"type":"object","minProperties":1}`},
		"dialects":   {`{"$schema":"x","anyOf":[{"$schema":"y","type":"null"}]}`, `{"anyOf":[{"type":"null"}]}`},
		"properties": {`{"properties":{"$schema":{"type":"string"},"$ref":{"maximum":9007199254740993}}}`, `{"properties":{"$ref":{"maximum":9007199254740993},"$schema":{"type":"string"}}}`},
		"references": {
			`{"$defs":{"a":{"type":"string"}},"items":{"$ref":"#/$defs/a","description":"d","default":1,"type":"string","examples":["x"]}}`,
			`{"$defs":{"a":{"type":"string"}},"items":{"$ref":"#/$defs/a","default":1,"description":"d"}}`,
		},
		"a reference as the whole": {`{"$ref":"#/$defs/a","$defs":{"a":{}},"title":"t"}`, `{"$defs":{"a":{}},"$ref":"#/$defs/a"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := sent(t, llm.Config{}, llm.Request{Model: "m", Schema: json.RawMessage(tt.schema), Messages: []llm.Message{llm.UserText("hi")}})
			want := `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"responseMimeType":"application/json","responseJsonSchema":` + tt.want + `}}`
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestThinking(t *testing.T) {
	tests := []struct {
		model  string
		effort llm.Effort
		want   string // empty: not mentioned
	}{
		{"gemini-2.0-flash", "", ""},
		{"gemini-2.5-flash-image", "", ""},
		{"gemma-3-27b-it", "", ""},
		{"tunedModels/mine", "", ""},
		{"gemini-2.5-flash", "", `{"includeThoughts":true}`},
		{"models/gemini-3-pro-preview", "", `{"includeThoughts":true}`},
		{"gemini-2.5-flash", llm.EffortNone, `{"thinkingBudget":0}`},
		{"gemini-2.5-pro", llm.EffortNone, `{"thinkingBudget":128}`},
		{"gemini-2.5-flash", llm.EffortLow, `{"includeThoughts":true,"thinkingBudget":1024}`},
		{"gemini-2.5-flash", llm.EffortMedium, `{"includeThoughts":true,"thinkingBudget":8192}`},
		{"gemini-2.5-pro", llm.EffortHigh, `{"includeThoughts":true,"thinkingBudget":24576}`},
		{"gemini-3-flash-preview", llm.EffortNone, `{"thinkingLevel":"MINIMAL"}`},
		{"gemini-3-pro-preview", llm.EffortNone, `{"thinkingLevel":"LOW"}`},
		{"gemini-3-pro-preview", llm.EffortMedium, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
		{"gemini-flash-latest", llm.EffortMedium, `{"includeThoughts":true,"thinkingLevel":"MEDIUM"}`},
		{"gemini-3.1-pro", llm.EffortHigh, `{"includeThoughts":true,"thinkingLevel":"HIGH"}`},
	}
	for _, tt := range tests {
		t.Run(tt.model+" "+string(tt.effort), func(t *testing.T) {
			var got struct {
				Config struct {
					Thinking json.RawMessage `json:"thinkingConfig"`
				} `json:"generationConfig"`
			}
			if err := json.Unmarshal([]byte(sent(t, llm.Config{Model: tt.model, Effort: tt.effort}, llm.Request{})), &got); err != nil {
				t.Fatal(err)
			}
			if string(got.Config.Thinking) != tt.want {
				t.Errorf("got %s, want %s", got.Config.Thinking, tt.want)
			}
		})
	}
}

func TestRequestErrors(t *testing.T) {
	p := provider(t, llm.Config{}, roundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("request was sent")
		return nil, io.EOF
	}))
	tests := map[string]struct {
		req  llm.Request
		want string
	}{
		"no model": {llm.Request{}, "request names no model"},
		"bad arguments": {
			llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.ToolCall, Name: "f", Args: json.RawMessage("{")}}}}},
			"encode request",
		},
		"bad schema": {llm.Request{Model: "m", Tools: []llm.ToolDef{{Name: "f", Schema: json.RawMessage(`{"$schema"`)}}}, "encode request"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			e := llm.AsError(read(t, p, tt.req).Err)
			if e == nil || e.Code != llm.CodeValidation || !strings.Contains(e.Error(), tt.want) {
				t.Errorf("got %v, want a validation error with %q", e, tt.want)
			}
		})
	}
}

func TestEndpoint(t *testing.T) {
	tests := map[string]struct {
		base, model, want string
	}{
		"Google":       {"", "gemini-3-pro", "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"},
		"a full name":  {"", "models/gemini-3-pro", "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse"},
		"a tuned one":  {"", "tunedModels/mine", "https://generativelanguage.googleapis.com/v1beta/tunedModels/mine:streamGenerateContent?alt=sse"},
		"a gateway":    {"http://localhost:8080/google/", "g", "http://localhost:8080/google/v1beta/models/g:streamGenerateContent?alt=sse"},
		"with version": {"https://x/google/v1beta/", "g", "https://x/google/v1beta/models/g:streamGenerateContent?alt=sse"},
		"with a query": {"https://x?team=1", "g", "https://x/v1beta/models/g:streamGenerateContent?alt=sse&team=1"},
		"odd letters":  {"https://x", "a b?c", "https://x/v1beta/models/a%20b%3Fc:streamGenerateContent?alt=sse"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := provider(t, llm.Config{BaseURL: tt.base, APIKey: key}, roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodPost || r.URL.String() != tt.want || r.Header.Get("X-Goog-Api-Key") != key {
					t.Errorf("got %s %s with %q", r.Method, r.URL, r.Header)
				}
				return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(events(finish("STOP"))))}, nil
			}))
			read(t, p, llm.Request{Model: tt.model})
		})
	}
}

func TestConfigErrors(t *testing.T) {
	for _, base := range []string{"generativelanguage.googleapis.com", "ftp://x", "http://", "http://x\x7f"} {
		if _, err := gemini.New(llm.Config{BaseURL: base}, nil); err == nil || !strings.Contains(err.Error(), "base_url") {
			t.Errorf("%q: got %v, want an error about base_url", base, err)
		}
	}
}
