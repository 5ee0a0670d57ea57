package anthropic_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"agenthost/llm"
	"agenthost/llm/anthropic"

	"github.com/google/go-cmp/cmp"
)

func TestNewErrors(t *testing.T) {
	for _, base := range []string{"localhost:11434", "ftp://host", "http://", "http://a b"} {
		if _, err := anthropic.New(llm.Config{BaseURL: base}, nil); err == nil || !strings.Contains(err.Error(), "base_url") {
			t.Errorf("%s: got %v, want an error about base_url", base, err)
		}
	}
}

// sent are the bodies of the requests that p is made to send.
func sent(t testing.TB, cfg llm.Config, reqs ...llm.Request) []string {
	t.Helper()
	var bodies []string
	p := provider(t, cfg, roundTripper(func(r *http.Request) (*http.Response, error) {
		b, err := io.ReadAll(r.Body)
		bodies = append(bodies, strings.TrimSpace(string(b)))
		return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(answered("a")))}, err
	}))
	for _, req := range reqs {
		if a := read(t, p, req); a.Err != nil {
			t.Fatal(a.Err)
		}
	}
	return bodies
}

const marked = `,"cache_control":{"type":"ephemeral"}}`

func TestRequest(t *testing.T) {
	said := []llm.Message{llm.UserText("hi")}
	const hi = `"messages":[{"role":"user","content":[{"type":"text","text":"hi"` + marked + `]}]}`
	seal := func(text, meta string) llm.Part {
		return llm.Part{Type: llm.Reasoning, Text: text, Provider: "anthropic", Meta: []byte(meta)}
	}
	result := func(call, text string, failed bool) llm.Part {
		return llm.Part{Type: llm.ToolResult, Call: call, Text: text, Error: failed}
	}
	image := func(m llm.Media) llm.Part { return llm.Part{Type: llm.MediaPart, Media: &m} }
	tests := map[string]struct {
		cfg  llm.Config
		req  llm.Request
		want string
	}{
		"smallest": {
			llm.Config{},
			llm.Request{Model: "m", Messages: []llm.Message{llm.UserText("<hi> & bye")}},
			`{"model":"m","max_tokens":8192,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"<hi> & bye"` + marked + `]}]}`,
		},
		"model, bound and temperature of the config": {
			llm.Config{Model: "m", MaxTokens: 100, Temperature: new(float64)},
			llm.Request{System: "s", Messages: said},
			`{"model":"m","max_tokens":100,"temperature":0,"stream":true,"system":[{"type":"text","text":"s"` + marked + `],` + hi,
		},
		"schema": {
			llm.Config{Model: "m"},
			llm.Request{System: "s", Messages: said, Schema: []byte(`{"type":"object"}`)},
			`{"model":"m","max_tokens":8192,"stream":true,"system":[{"type":"text","text":"s\n\nWhen you give your answer, give nothing but JSON, without a fence around it, ` +
				`that keeps to this JSON Schema: {\"type\":\"object\"}"` + marked + `],` + hi,
		},
		"tools without a system prompt": {
			llm.Config{Model: "m"},
			llm.Request{Messages: said, Tools: []llm.ToolDef{{Name: "a.b", Description: "does", Schema: []byte(`{"type": "object"}`)}, {Name: "c"}}},
			`{"model":"m","max_tokens":8192,"stream":true,"tools":[{"name":"a__b","description":"does","input_schema":{"type":"object"}},` +
				`{"name":"c","input_schema":{"type":"object","properties":{}}` + marked + `],` + hi,
		},
		"conversation": {
			llm.Config{Model: "m"},
			llm.Request{
				Messages: []llm.Message{
					llm.UserText("what time is it?"),
					{Role: llm.Assistant, Parts: []llm.Part{
						seal("hm <", `{"signature":"s+/="}`), seal("", `{"redacted":"r"}`),
						{Type: llm.Text, Text: "Looking."},
						toolCall("1", "clock.now", `{"z": 1,"a":2}`),
						{Type: llm.ToolCall, Call: "functions.f:2", Name: "f", Text: "{", Error: true},
						toolCall("3", "f", `[1]`),
					}},
					{Role: llm.Tool, Parts: []llm.Part{result("1", "noon", false)}},
					{Role: llm.User, Name: "Bo", Parts: text("quick!")},
					{Role: llm.Tool, Parts: []llm.Part{result("functions.f:2", " ", true), result("3", "", false)}},
					{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Reasoning, Text: "unsigned"}, {Type: llm.Text, Text: "Noon."}, {Type: llm.Text, Text: " "}}},
					{Role: llm.Assistant, Parts: text("Really.")},
					llm.UserText(" "),
					{Role: llm.Assistant, Parts: []llm.Part{seal("cut off", `{"signature":"t"}`)}, Partial: true},
					llm.UserText("thanks"),
				},
			},
			`{"model":"m","max_tokens":8192,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"what time is it?"}]},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"hm <","signature":"s+/="},{"type":"redacted_thinking","data":"r"},{"type":"text","text":"Looking."},` +
				`{"type":"tool_use","id":"1","name":"clock__now","input":{"z":1,"a":2}},{"type":"tool_use","id":"functions__f_2_485b9b9e","name":"f","input":{}},{"type":"tool_use","id":"3","name":"f","input":{}}]},` +
				`{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"noon"},{"type":"tool_result","tool_use_id":"functions__f_2_485b9b9e","content":"failed","is_error":true},` +
				`{"type":"tool_result","tool_use_id":"3"},{"type":"text","text":"Bo: quick!"` + marked + `]},` +
				`{"role":"assistant","content":[{"type":"text","text":"Noon."},{"type":"text","text":"Really."}]},` +
				`{"role":"user","content":[{"type":"text","text":"(nothing)"},{"type":"text","text":"thanks"` + marked + `]}]}`,
		},
		"texts": {
			llm.Config{},
			llm.Request{Model: "m<1>", Messages: []llm.Message{
				llm.UserText("\"a\"\n\xff\u2028é"),
				{Role: llm.Assistant, Parts: text("<b>")},
				{Role: llm.Assistant, Parts: append(text("\\"), text("&")...)},
				{Role: llm.User, Name: "Ana<", Parts: text("hi")},
				{Role: llm.User, Parts: append(append(text("one "), text("")...), text("two")...)},
				{Role: llm.Assistant, Parts: text("")},
				llm.UserText(""),
				{Role: llm.Assistant, Parts: text("\t")},
				{Role: llm.Tool},
				{Role: llm.Assistant},
				{Role: llm.User},
				{Role: llm.Assistant, Parts: text("bye")},
			}},
			`{"model":"m<1>","max_tokens":8192,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"\"a\"\n\ufffd\u2028é"` + marked + `]},` +
				`{"role":"assistant","content":[{"type":"text","text":"<b>"},{"type":"text","text":"\\"},{"type":"text","text":"&"}]},` +
				`{"role":"user","content":[{"type":"text","text":"Ana<: hi"},{"type":"text","text":"one "},{"type":"text","text":"two"},{"type":"text","text":"(nothing)"},{"type":"text","text":"(nothing)"` + marked + `]},` +
				`{"role":"assistant","content":[{"type":"text","text":"bye"}]}]}`,
		},
		"results between texts": {
			llm.Config{Model: "m"},
			llm.Request{Messages: []llm.Message{
				llm.UserText("a"),
				{Role: llm.Tool, Parts: []llm.Part{result("1", "<", false)}},
				llm.UserText("b"),
				{Role: llm.Tool, Parts: []llm.Part{result("2", "&", true)}},
			}},
			`{"model":"m","max_tokens":8192,"stream":true,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"<"},` +
				`{"type":"tool_result","tool_use_id":"2","content":"&","is_error":true},{"type":"text","text":"a"},{"type":"text","text":"b"` + marked + `]}]}`,
		},
		"only results": {
			llm.Config{Model: "m"},
			llm.Request{Messages: []llm.Message{{Role: llm.Tool, Parts: []llm.Part{result("1", "a", false), result("2", "b", false)}}}},
			`{"model":"m","max_tokens":8192,"stream":true,"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"a"},` +
				`{"type":"tool_result","tool_use_id":"2","content":"b"` + marked + `]}]}`,
		},
		"only an answer": {
			llm.Config{Model: "m"},
			llm.Request{Messages: []llm.Message{{Role: llm.Assistant, Parts: text("a")}}},
			`{"model":"m","max_tokens":8192,"stream":true,"messages":[{"role":"assistant","content":[{"type":"text","text":"a"}]}]}`,
		},
		"nothing said": {llm.Config{}, llm.Request{Model: "m"}, `{"model":"m","max_tokens":8192,"stream":true,"messages":null}`},
		"hidden thinking": {
			llm.Config{Model: "m"},
			llm.Request{Messages: []llm.Message{llm.UserText("hi"), {Role: llm.Assistant, Parts: append([]llm.Part{seal("", `{"signature":"s"}`)}, text("a")...)}, llm.UserText("b")}},
			`{"model":"m","max_tokens":8192,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"hi"` + marked + `]},` +
				`{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"s"},{"type":"text","text":"a"}]},` +
				`{"role":"user","content":[{"type":"text","text":"b"` + marked + `]}]}`,
		},
		"media": {
			llm.Config{Model: "m"},
			llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: []llm.Part{
				{Type: llm.Text, Text: "look"},
				image(llm.Media{Kind: "image", MIME: "image/png", Data: []byte("png"), URL: "https://x/0.png"}),
				image(llm.Media{Kind: "image", Data: []byte("GIF89a")}),
				image(llm.Media{Kind: "image", URL: "https://x/1.png"}),
				image(llm.Media{Kind: "image", MIME: "image/svg+xml", Name: "2.svg", URL: "https://x/2.svg"}),
				image(llm.Media{Kind: "image", Name: "3.png", Object: "o"}),
				image(llm.Media{MIME: "application/pdf", Name: "a.pdf", Data: []byte("%PDF-")}),
				image(llm.Media{Name: "b"}),
			}}}},
			`{"model":"m","max_tokens":8192,"stream":true,"messages":[{"role":"user","content":[{"type":"text","text":"look"},` +
				`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},{"type":"image","source":{"type":"base64","media_type":"image/gif","data":"R0lGODlh"}},` +
				`{"type":"image","source":{"type":"url","url":"https://x/1.png"}},{"type":"text","text":"[attached image \"2.svg\"]"},{"type":"text","text":"[attached image \"3.png\"]"},` +
				`{"type":"text","text":"[attached application/pdf \"a.pdf\"]"},{"type":"text","text":"[attached file \"b\"]"` + marked + `]}]}`,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := sent(t, tt.cfg, tt.req, tt.req)
			if diff := cmp.Diff([]string{tt.want, tt.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestThinking(t *testing.T) {
	half := 0.5
	budget := func(max, n string) string {
		return `"max_tokens":` + max + `,"thinking":{"type":"enabled","budget_tokens":` + n + `}`
	}
	adaptive := func(max, effort string) string {
		return `"max_tokens":` + max + `,"thinking":{"type":"adaptive","display":"summarized"},"output_config":{"effort":"` + effort + `"}`
	}
	const off = `"max_tokens":8192,"temperature":0.5`
	tests := map[string]struct {
		model  string
		effort llm.Effort
		max    int
		want   string // between the model and the stream
	}{
		"no effort":          {"claude-sonnet-4-5", "", 0, off},
		"none":               {"claude-sonnet-4-5", llm.EffortNone, 0, off},
		"low":                {"claude-sonnet-4-5-20250929", llm.EffortLow, 0, budget("10240", "2048")},
		"medium":             {"claude-opus-4-20250514", llm.EffortMedium, 0, budget("16384", "8192")},
		"high":               {"claude-3-7-sonnet-latest", llm.EffortHigh, 0, budget("24576", "16384")},
		"bounded":            {"claude-haiku-4-5", llm.EffortHigh, 20000, budget("20000", "16384")},
		"bounded below":      {"claude-haiku-4-5", llm.EffortHigh, 4000, budget("4000", "2000")},
		"bounded too low":    {"claude-haiku-4-5", llm.EffortHigh, 2000, `"max_tokens":2000,"temperature":0.5`},
		"another server's":   {"MiniMax-M2", llm.EffortLow, 0, budget("10240", "2048")},
		"a gateway's":        {"anthropic/claude-sonnet-4.5", llm.EffortLow, 0, budget("10240", "2048")},
		"of itself":          {"claude-opus-4-7", llm.EffortLow, 0, adaptive("10240", "low")},
		"of itself, high":    {"claude-sonnet-4-6-20260219", llm.EffortHigh, 0, adaptive("24576", "high")},
		"of itself, newer":   {"claude-sonnet-5", llm.EffortMedium, 5000, adaptive("5000", "medium")},
		"of itself, gateway": {"anthropic/claude-opus-4.8", llm.EffortMedium, 0, adaptive("16384", "medium")},
		"of itself, silent":  {"claude-opus-4-8", "", 0, off},
		"of itself, none":    {"claude-opus-4-8", llm.EffortNone, 0, `"max_tokens":8192,"temperature":0.5,"thinking":{"type":"disabled"}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			cfg := llm.Config{Model: tt.model, Effort: tt.effort, MaxTokens: tt.max, Temperature: &half}
			got := sent(t, cfg, llm.Request{Messages: []llm.Message{llm.UserText("hi")}})[0]
			got, _, _ = strings.Cut(strings.TrimPrefix(got, `{"model":"`+tt.model+`",`), `,"stream"`)
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// TestNoThinkingAmidCalls: the thoughts in front of these calls are another
// provider's, so the API would refuse to think on.
func TestNoThinkingAmidCalls(t *testing.T) {
	conversation := func(first ...llm.Part) llm.Request {
		return llm.Request{Messages: []llm.Message{
			llm.UserText("hi"),
			{Role: llm.Assistant, Parts: append(first, toolCall("1", "f", "{}"))},
			{Role: llm.Tool, Parts: []llm.Part{{Type: llm.ToolResult, Call: "1", Text: "a"}}},
		}}
	}
	tests := map[string]struct {
		model string
		req   llm.Request
		want  bool
	}{
		"own thoughts":      {"claude-haiku-4-5", conversation(thought("hm", `{"signature":"s"}`)), true},
		"redacted thoughts": {"claude-haiku-4-5", conversation(thought("", `{"redacted":"s"}`)), true},
		"no thoughts":       {"claude-haiku-4-5", conversation(), false},
		"of itself":         {"claude-sonnet-5", conversation(), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := sent(t, llm.Config{Model: tt.model, Effort: llm.EffortLow}, tt.req)[0]
			if thinks := strings.Contains(got, `"thinking":{`); thinks != tt.want {
				t.Errorf("thinks: %v, want %v: %s", thinks, tt.want, got)
			}
		})
	}
}

// TestReplay sends back what a model thought, as it came.
func TestReplay(t *testing.T) {
	seen := fixture(t, "reasoning")
	b := llm.Builder{Provider: "anthropic"}
	for d, err := range serve(t, stream(string(seen))).Stream(t.Context(), toolRequest) {
		if err != nil {
			t.Fatal(err)
		}
		b.Add(d)
	}
	// As it is kept, in a log.
	stored, err := json.Marshal(b.Message())
	if err != nil {
		t.Fatal(err)
	}
	var m llm.Message
	if err := json.Unmarshal(stored, &m); err != nil {
		t.Fatal(err)
	}
	signature := regexp.MustCompile(`"signature":"[^"]+"`).FindString(string(seen))
	got := sent(t, llm.Config{Model: "m"}, llm.Request{Messages: []llm.Message{llm.UserText("6*7?"), m, llm.UserText("sure?")}})[0]
	want := `{"role":"assistant","content":[{"type":"thinking","thinking":"Let me think.",` + signature + `},{"type":"text","text":"42."}]}`
	if !strings.Contains(got, want) {
		t.Errorf("got %s, want %s in it", got, want)
	}
}

// TestPrefix: but for the marks of the cache, a longer conversation begins with
// the bytes of the shorter, and the shorter ended with a mark that the longer
// has too.
func TestPrefix(t *testing.T) {
	req := toolRequest
	req.System = "s"
	var reqs []llm.Request
	for range 5 {
		reqs = append(reqs, req)
		req.Messages = append(slices.Clip(req.Messages),
			llm.Message{Role: llm.Assistant, Parts: []llm.Part{toolCall("1", "f", `{"a":1}`)}},
			llm.Message{Role: llm.Tool, Parts: []llm.Part{{Type: llm.ToolResult, Call: "1", Text: "a"}}})
	}
	const mark = `,"cache_control":{"type":"ephemeral"}`
	bodies := sent(t, llm.Config{}, reqs...)
	for i, body := range bodies {
		if n := strings.Count(body, mark); n > 4 {
			t.Errorf("%d marks, more than the API takes", n)
		}
		if i == 0 {
			continue
		}
		last := bodies[i-1][:strings.LastIndex(bodies[i-1], mark)]
		unmarked := strings.ReplaceAll(last, mark, "")
		if !strings.HasPrefix(strings.ReplaceAll(body, mark, ""), unmarked) {
			t.Errorf("%s\ndoes not begin with\n%s", body, unmarked)
		}
		if at := len(unmarked); !hasMarkAt(body, mark, at) {
			t.Errorf("%s\nhas no mark where\n%s\nended", body, bodies[i-1])
		}
	}
}

// hasMarkAt reports whether there is a mark behind so many other bytes.
func hasMarkAt(body, mark string, at int) bool {
	rest, before := body, 0
	for {
		i := strings.Index(rest, mark)
		if i < 0 {
			return false
		}
		before += i
		if before == at {
			return true
		}
		rest = rest[i+len(mark):]
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
		"no model":      {llm.Request{}, "request names no model"},
		"bad arguments": {llm.Request{Model: "m", Messages: []llm.Message{{Role: llm.Assistant, Parts: []llm.Part{toolCall("1", "f", "{")}}}}, "encode request"},
		"bad schema":    {llm.Request{Model: "m", Tools: []llm.ToolDef{{Name: "f", Schema: json.RawMessage("{")}}}, "encode request"},
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
		cfg llm.Config
		url string
	}{
		"Anthropic":      {llm.Config{APIKey: "k"}, "https://api.anthropic.com/v1/messages"},
		"compatible":     {llm.Config{BaseURL: "http://localhost:4000/anthropic/", APIKey: "k"}, "http://localhost:4000/anthropic/v1/messages"},
		"with a version": {llm.Config{BaseURL: "https://api.anthropic.com/v1/"}, "https://api.anthropic.com/v1/messages"},
		"with a query":   {llm.Config{BaseURL: "https://x?a=1", APIKey: "k"}, "https://x/v1/messages?a=1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := provider(t, tt.cfg, roundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodPost || r.URL.String() != tt.url {
					t.Errorf("got %s %s, want %s", r.Method, r.URL, tt.url)
				}
				want := http.Header{"Content-Type": {"application/json"}, "Accept": {"text/event-stream"}, "Anthropic-Version": {"2023-06-01"}}
				if tt.cfg.APIKey != "" {
					want.Set("x-api-key", tt.cfg.APIKey)
				}
				if diff := cmp.Diff(want, r.Header); diff != "" {
					t.Error(diff)
				}
				return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(answered("a")))}, nil
			}))
			read(t, p, llm.Request{Model: "m"})
		})
	}
}

// TestOneConnection uses the default transport, and one connection for call
// after call.
func TestOneConnection(t *testing.T) {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(stream(answered("a")))
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
