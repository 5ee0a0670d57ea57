package openai_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/llm"
	"agenthost/llm/openai"

	"github.com/google/go-cmp/cmp"
)

func TestNewErrors(t *testing.T) {
	for _, base := range []string{"localhost:11434", "ftp://host", "http://", "http://a b"} {
		if _, err := openai.New(llm.Config{BaseURL: base}, nil); err == nil || !strings.Contains(err.Error(), "base_url") {
			t.Errorf("%s: got %v, want an error about base_url", base, err)
		}
	}
}

func TestRequest(t *testing.T) {
	tests := map[string]struct {
		cfg  llm.Config
		req  llm.Request
		want string
	}{
		"smallest": {
			llm.Config{},
			llm.Request{Model: "m", Messages: []llm.Message{llm.UserText("<hi> & bye")}},
			`{"model":"m","messages":[{"role":"user","content":"<hi> & bye"}],"stream":true,"stream_options":{"include_usage":true}}`,
		},
		"schema": {
			llm.Config{},
			llm.Request{Model: "m", System: "s", Schema: []byte(`{"type":"object"}`)},
			`{"model":"m","messages":[{"role":"system","content":"s"}],"stream":true,"stream_options":{"include_usage":true},` +
				`"response_format":{"type":"json_schema","json_schema":{"name":"answer","schema":{"type":"object"}}}}`,
		},
		"settings": {
			llm.Config{MaxTokens: 100, Temperature: new(float64), Effort: llm.EffortHigh},
			llm.Request{Model: "m", System: "s"},
			`{"model":"m","messages":[{"role":"system","content":"s"}],"stream":true,"stream_options":{"include_usage":true},` +
				`"max_completion_tokens":100,"temperature":0,"reasoning_effort":"high"}`,
		},
		"settings of another server": {
			llm.Config{BaseURL: "http://localhost:8080/v1", MaxTokens: 100, Effort: llm.EffortNone},
			llm.Request{Model: "m", System: "s"},
			`{"model":"m","messages":[{"role":"system","content":"s"}],"stream":true,"stream_options":{"include_usage":true},` +
				`"max_tokens":100,"reasoning_effort":"none"}`,
		},
		"model of the config": {
			llm.Config{Model: "m"},
			llm.Request{System: "s"},
			`{"model":"m","messages":[{"role":"system","content":"s"}],"stream":true,"stream_options":{"include_usage":true}}`,
		},
		"conversation": {
			llm.Config{},
			llm.Request{
				Model: "m", System: "You are Ana.",
				Messages: []llm.Message{
					llm.UserText("what time is it?"),
					{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Reasoning, Text: "secret"}, {Type: llm.Text, Text: "Looking."}, toolCall("1", "clock.now", `{"z": 1,"a":2}`), {Type: llm.ToolCall, Call: "2", Name: "f", Text: "{", Error: true}}},
					{Role: llm.Tool, Parts: []llm.Part{{Type: llm.ToolResult, Call: "1", Text: "noon"}, {Type: llm.ToolResult, Call: "2", Text: "bad", Error: true}}},
					{Role: llm.Assistant, Parts: []llm.Part{toolCall("3", "gone.tool", "{}")}},
					{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Reasoning, Text: "secret"}}, Partial: true},
				},
				Tools: []llm.ToolDef{{Name: "clock.now", Description: "tells the time", Schema: []byte(`{"type": "object"}`)}, {Name: "f"}},
			},
			`{"model":"m","messages":[{"role":"system","content":"You are Ana."},{"role":"user","content":"what time is it?"},` +
				`{"role":"assistant","content":"Looking.","tool_calls":[{"id":"1","type":"function","function":{"name":"clock__now","arguments":"{\"z\": 1,\"a\":2}"}},{"id":"2","type":"function","function":{"name":"f","arguments":"{}"}}]},` +
				`{"role":"tool","content":"noon","tool_call_id":"1"},{"role":"tool","content":"bad","tool_call_id":"2"},` +
				`{"role":"assistant","content":null,"tool_calls":[{"id":"3","type":"function","function":{"name":"gone__tool","arguments":"{}"}}]}],` +
				`"tools":[{"type":"function","function":{"name":"clock__now","description":"tells the time","parameters":{"type":"object"}}},{"type":"function","function":{"name":"f","parameters":{"type":"object","properties":{}}}}],` +
				`"stream":true,"stream_options":{"include_usage":true}}`,
		},
		"texts": {
			llm.Config{},
			llm.Request{Model: "m<1>", Messages: []llm.Message{
				llm.UserText("\"a\"\n\xff\u2028é"),
				{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: "<b>"}}},
				{Role: llm.User, Name: "Ana", Parts: []llm.Part{{Type: llm.Text, Text: "hi"}}},
				{Role: llm.User, Parts: []llm.Part{{Type: llm.Text, Text: "one "}, {Type: llm.Text, Text: "two"}}},
				llm.UserText(""),
				{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text}}},
			}},
			`{"model":"m<1>","messages":[{"role":"user","content":"\"a\"\n\ufffd\u2028é"},{"role":"assistant","content":"<b>"},` +
				`{"role":"user","content":"Ana: hi"},{"role":"user","content":"one two"},{"role":"user","content":""}],` +
				`"stream":true,"stream_options":{"include_usage":true}}`,
		},
		"nothing said": {
			llm.Config{},
			llm.Request{Model: "m"},
			`{"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":true}}`,
		},
		"media": {
			llm.Config{},
			llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{
				{Type: llm.Text, Text: "see"},
				{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", URL: "https://x/1.png"}},
				{Type: llm.MediaPart, Media: &llm.Media{MIME: "image/png", URL: "https://x/2.png"}},
				{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", Name: "3.png", Object: "o"}},
				{Type: llm.MediaPart, Media: &llm.Media{Name: "a.pdf", URL: "https://x/a.pdf"}},
				{Type: llm.MediaPart, Media: &llm.Media{MIME: "image/webp", Object: "o", Data: []byte("abc")}},
				{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", Data: []byte("GIF89a")}},
			}}, {Role: llm.Assistant, Parts: []llm.Part{{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", Name: "b.png", Object: "p"}}}}}},
			`{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"see"},{"type":"image_url","image_url":{"url":"https://x/1.png"}},{"type":"image_url","image_url":{"url":"https://x/2.png"}},` +
				`{"type":"text","text":"[attached image \"3.png\"]"},{"type":"text","text":"[attached file \"a.pdf\"]"},` +
				`{"type":"image_url","image_url":{"url":"data:image/webp;base64,YWJj"}},{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlh"}}]},` +
				`{"role":"assistant","content":"[attached image \"b.png\"]"}],"stream":true,"stream_options":{"include_usage":true}}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			p := provider(t, tt.cfg, roundTripper(func(r *http.Request) (*http.Response, error) {
				b, err := io.ReadAll(r.Body)
				got = append(got, strings.TrimSpace(string(b)))
				return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(events(finish("stop"))))}, err
			}))
			for range 2 {
				if a := read(t, p, tt.req); a.Err != nil {
					t.Fatal(a.Err)
				}
			}
			if diff := cmp.Diff([]string{tt.want, tt.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestLeastEffort has models that always think, and ones that can do without.
func TestLeastEffort(t *testing.T) {
	tests := map[string]string{
		"gpt-5": "minimal", "gpt-5-mini-2025-08-07": "minimal", "openai/gpt-5-nano": "minimal", "gpt-5.1": "none",
		"o4-mini": "low", "openai/o3": "low", "olmo": "none", "qwen3:8b": "none",
	}
	for model, want := range tests {
		t.Run(model, func(t *testing.T) {
			var got struct {
				Effort string `json:"reasoning_effort"`
			}
			p := provider(t, llm.Config{Effort: llm.EffortNone}, roundTripper(func(r *http.Request) (*http.Response, error) {
				err := json.NewDecoder(r.Body).Decode(&got)
				return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(events(finish("stop"))))}, err
			}))
			read(t, p, llm.Request{Model: model})
			if got.Effort != want {
				t.Errorf("got %q, want %q", got.Effort, want)
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
		"no model":   {llm.Request{}, "request names no model"},
		"bad schema": {llm.Request{Model: "m", Tools: []llm.ToolDef{{Name: "f", Schema: json.RawMessage("{")}}}, "encode request"},
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

func TestHeaders(t *testing.T) {
	tests := map[string]struct {
		cfg       llm.Config
		url, auth string
	}{
		"OpenAI":       {llm.Config{APIKey: "k"}, "https://api.openai.com/v1/chat/completions", "Bearer k"},
		"local":        {llm.Config{BaseURL: "http://localhost:11434/v1/"}, "http://localhost:11434/v1/chat/completions", ""},
		"with a query": {llm.Config{BaseURL: "https://x/v1?api-version=1", APIKey: "k"}, "https://x/v1/chat/completions?api-version=1", "Bearer k"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := provider(t, tt.cfg, roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodPost || r.URL.String() != tt.url || r.Header.Get("Authorization") != tt.auth {
					t.Errorf("got %s %s with %q", r.Method, r.URL, r.Header.Get("Authorization"))
				}
				return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(events(finish("stop"))))}, nil
			}))
			read(t, p, llm.Request{Model: "m"})
		})
	}
}

// TestToolNames sends names that the API does not allow, and has the model call
// each of them by the name that was sent.
func TestToolNames(t *testing.T) {
	tests := map[string]struct{ tools, sent []string }{
		"dots":               {[]string{"a.b.c"}, []string{"a__b__c"}},
		"other letters":      {[]string{"grün/tea"}, []string{"gr_n_tea"}},
		"taken":              {[]string{"a.b", "a__b"}, []string{"a__b_108bf50c", "a__b"}},
		"two that are alike": {[]string{"a/b", "a b"}, []string{"a_b", "a_b_10a3f9f2"}},
		"too long":           {[]string{strings.Repeat("a.", 40)}, []string{strings.Repeat("a__", 18) + "a_58027295"}},
		"the same twice":     {[]string{"a.b", "a.b"}, []string{"a__b", "a__b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			req := llm.Request{Model: "m"}
			for _, name := range tt.tools {
				req.Tools = append(req.Tools, llm.ToolDef{Name: name})
			}
			var sent []string
			p := provider(t, llm.Config{}, roundTripper(func(r *http.Request) (*http.Response, error) {
				var got struct {
					Tools []struct{ Function struct{ Name string } }
				}
				err := json.NewDecoder(r.Body).Decode(&got)
				var reply bytes.Buffer
				for _, tool := range got.Tools {
					sent = append(sent, tool.Function.Name)
					reply.WriteString(events(call("", tool.Function.Name, `"{}"`)))
				}
				reply.WriteString(events(finish("tool_calls")))
				return &http.Response{StatusCode: 200, Body: io.NopCloser(&reply)}, err
			}))
			a := read(t, p, req)
			var called []string
			for _, c := range a.Message.Calls() {
				called = append(called, c.Name)
			}
			if diff := cmp.Diff(tt.tools, called); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.sent, sent); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestOneConnection uses the default transport, and one connection for call
// after call.
func TestOneConnection(t *testing.T) {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(stream(events(say("a"), finish("stop"), "[DONE]")))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	p := provider(t, llm.Config{BaseURL: server.URL, Model: "m"}, nil)
	for range 5 {
		if a := read(t, p, llm.Request{}); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	if opened.Load() != 1 {
		t.Errorf("got %d connections, want 1", opened.Load())
	}
}
