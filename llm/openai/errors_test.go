package openai_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"agenthost/llm"
	"agenthost/llm/llmtest"

	"github.com/google/go-cmp/cmp"
)

func TestStatusErrors(t *testing.T) {
	said := func(message, kind, code string) string {
		return fmt.Sprintf(`{"error":{"message":%q,"type":%q,"code":%s}}`, message, kind, code)
	}
	after := func(name, value string) http.Header { return http.Header{name: {value}} }
	tests := map[string]struct {
		status int
		header http.Header
		body   string
		want   llm.Error
		text   string
	}{
		"wrong key":   {401, nil, said("no", "", `"invalid_api_key"`), llm.Error{Code: llm.CodeProviderAuth}, "no"},
		"forbidden":   {403, nil, `{"detail":"not you"}`, llm.Error{Code: llm.CodeProviderAuth}, "not you"},
		"unpaid":      {402, nil, "", llm.Error{Code: llm.CodeProviderAuth}, "payment required"},
		"bad request": {400, nil, said("bad", "invalid_request_error", "null"), llm.Error{Code: llm.CodeValidation}, "bad"},
		"too long": {
			400, nil, said("too many tokens", "invalid_request_error", `"context_length_exceeded"`),
			llm.Error{Code: llm.CodeValidation, TooLong: true},
			"too many tokens",
		},
		"failed call of Groq": {
			400, nil, said("Failed to call a function", "invalid_request_error", `"tool_use_failed"`),
			llm.Error{Code: llm.CodeProviderUnavailable, Transient: true},
			"Failed to call a function",
		},
		"too large": {413, nil, "", llm.Error{Code: llm.CodeValidation, TooLong: true}, "request entity too large"},
		"long only by its text": {
			400, nil, said("context_length_exceeded", "", "null"), llm.Error{Code: llm.CodeValidation}, "context_length_exceeded",
		},
		"context of llama.cpp": {
			400, nil, said("request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it", "exceed_context_size_error", "400"),
			llm.Error{Code: llm.CodeValidation, TooLong: true},
			"request (9000 tokens) exceeds the available context size (4096 tokens), try increasing it",
		},
		"rate limit that speaks of lengths": {
			429, nil, said("over the maximum context length a minute", "", "null"),
			llm.Error{Code: llm.CodeProviderRateLimit, Transient: true},
			"over the maximum context length a minute",
		},
		"filtered": {400, nil, said("no", "", `"content_filter"`), llm.Error{Code: llm.CodeContentFilter}, "no"},
		"in a list, as Google has it": {
			400, nil, `[{"error":{"code":400,"message":"the input exceeds the maximum number of tokens","status":"INVALID_ARGUMENT"}}]`,
			llm.Error{Code: llm.CodeValidation, TooLong: true},
			"the input exceeds the maximum number of tokens",
		},
		"filtered by DashScope": {400, nil, said("no", "", `"data_inspection_failed"`), llm.Error{Code: llm.CodeContentFilter}, "no"},
		"quota of Moonshot":     {429, nil, said("pay", "exceeded_current_quota_error", "null"), llm.Error{Code: llm.CodeProviderRateLimit}, "pay"},
		"unknown model":         {404, nil, `{"error":"no such model"}`, llm.Error{Code: llm.CodeProviderUnavailable}, "no such model"},
		"moved":                 {301, after("Location", "/other"), "", llm.Error{Code: llm.CodeProviderUnavailable}, "moved permanently"},
		"rate limit, seconds": {
			429, after("Retry-After", "7"), said("slow", "rate_limit_error", "429"),
			llm.Error{Code: llm.CodeProviderRateLimit, Transient: true, RetryAfter: 7 * time.Second},
			"slow",
		},
		"rate limit, milliseconds": {
			429,
			http.Header{"Retry-After": {"7"}, "Retry-After-Ms": {"250"}},
			"slow",
			llm.Error{Code: llm.CodeProviderRateLimit, Transient: true, RetryAfter: 250 * time.Millisecond},
			"slow",
		},
		"quota":       {429, nil, said("pay", "insufficient_quota", `"insufficient_quota"`), llm.Error{Code: llm.CodeProviderRateLimit}, "pay"},
		"timeout":     {408, nil, "", llm.Error{Code: llm.CodeProviderUnavailable, Transient: true}, "request timeout"},
		"server":      {500, nil, `{"message":"oops"}`, llm.Error{Code: llm.CodeProviderUnavailable, Transient: true}, "oops"},
		"gateway":     {502, nil, "<html><body>Bad Gateway</body></html>", llm.Error{Code: llm.CodeProviderUnavailable, Transient: true}, "bad gateway"},
		"overloaded":  {529, nil, "", llm.Error{Code: llm.CodeProviderUnavailable, Transient: true}, "unknown error"},
		"code alone":  {500, nil, said("", "api_error", `"boom"`), llm.Error{Code: llm.CodeProviderUnavailable, Transient: true}, "boom"},
		"endless":     {400, nil, strings.Repeat("é", 9000), llm.Error{Code: llm.CodeValidation}, strings.Repeat("é", 250) + "…"},
		"odd message": {400, nil, `{"error":{"message":{"a":1}}}`, llm.Error{Code: llm.CodeValidation}, `{"a":1}`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := readError(t, serve(t, respond(tt.status, tt.header, tt.body)))
			tt.want.Status, tt.want.Err = tt.status, errors.New(tt.text)
			if diff := cmp.Diff(tt.want, *err, cmp.Comparer(sameText)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestStreamErrors(t *testing.T) {
	unavailable := llm.Error{Code: llm.CodeProviderUnavailable, Transient: true}
	tests := map[string]struct {
		body string
		want llm.Error
		text string
	}{
		"empty body":           {"", unavailable, "stream broke off"},
		"only [DONE]":          {"data: [DONE]\n\n", unavailable, "stream broke off"},
		"end before finish":    {events(say("a")), unavailable, "stream broke off"},
		"end inside a chunk":   {events(say("a")) + `data: {"choi`, unavailable, "read chunk: "},
		"a chunk of nonsense":  {events("nonsense"), unavailable, "read chunk: "},
		"content of no kind":   {events(delta(`{"content":[1]}`)), unavailable, "read chunk: "},
		"error in the rest":    {"data: " + say("a") + "\ndata: {\"error\":\"no\"}\n\n", unavailable, "no"},
		"nonsense in the rest": {"data: " + say("a") + "\ndata: nonsense\n\n", unavailable, "read chunk: "},
		"a page":               {"\n<html>hello</html>", unavailable, "no chat completion"},
		"other JSON":           {`{"status":"ok"}`, unavailable, "no chat completion"},
		"broken JSON":          {`{"choices":[`, unavailable, "read answer: "},
		"words":                {"It works!", unavailable, "stream broke off"},
		"finish error":         {events(say("a"), finish("error")), unavailable, `model ended with "error"`},
		"plain without finish": {`{"choices":[{"message":{"content":"a"}}]}`, unavailable, "stream broke off"},
		"plain error":          {`{"error":{"message":"no"}}`, unavailable, "no"},
		"error":                {events(say("a"), `{"error":{"message":"no"}}`), unavailable, "no"},
		"error in one string":  {events(`{"error":"no"}`), unavailable, "no"},
		"two calls of two answers": {
			events(of(`"a"`, delta(`{"role":"assistant","tool_calls":[{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}]}`)), of(`"a"`, finish("tool_calls")), of(`"b"`, delta(`{"role":"assistant","tool_calls":[{"index":0,"id":"y","function":{"name":"f","arguments":"{}"}}]}`)), of(`"b"`, finish("tool_calls")), "[DONE]"),
			unavailable, "two answers",
		},
		"two texts of two answers": {
			events(of(`"a"`, say("a")), of(`"a"`, finish("stop")), of(`"b"`, say("b")), of(`"b"`, finish("stop")), "[DONE]"),
			unavailable, "two answers",
		},
		"error with a status": {
			events(`{"error":{"message":"slow","code":429}}`),
			llm.Error{Code: llm.CodeProviderRateLimit, Status: 429, Transient: true},
			"slow",
		},
		"error with a code": {
			events(`{"error":{"message":"slow","code":"rate_limit_exceeded"}}`),
			llm.Error{Code: llm.CodeProviderRateLimit, Transient: true},
			"slow",
		},
		"error of the request": {
			events(`{"error":{"message":"bad","type":"invalid_request_error","code":"context_length_exceeded"}}`),
			llm.Error{Code: llm.CodeValidation, TooLong: true},
			"bad",
		},
		"failed call of Groq": {
			"event: error\ndata: " + `{"error":{"message":"no","type":"invalid_request_error","code":"tool_use_failed","status_code":400}}` + "\n\n",
			unavailable, "no",
		},
		"error that is the chunk": {
			events(say("a"), `{"object":"error","message":"no","type":"InternalServerError","code":500}`),
			llm.Error{Code: unavailable.Code, Status: 500, Transient: true},
			"no",
		},
		"error of the choice": {
			events(say("a"), `{"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"upstream"}}]}`),
			llm.Error{Code: unavailable.Code, Status: 502, Transient: true},
			"upstream",
		},
		"error as a field": {
			events(say("a")) + `error: {"code":400,"message":"the request exceeds the available context size","type":"invalid_request_error"}` + "\n\n",
			llm.Error{Code: llm.CodeValidation, Status: 400, TooLong: true},
			"context size",
		},
		"stopped early by Groq": {events(say("a"), `{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"error":"over capacity"}}`), unavailable, "over capacity"},
		"finish of Google":      {events(say("a"), finish("MALFORMED_FUNCTION_CALL")), unavailable, "MALFORMED_FUNCTION_CALL"},
		"finish of DeepSeek":    {events(say("a"), finish("insufficient_system_resource")), unavailable, "insufficient_system_resource"},
		"error of the key":      {events(`{"error":{"type":"authentication_error"}}`), llm.Error{Code: llm.CodeProviderAuth}, "authentication_error"},
		"named, wrapped":        {"event: error\n" + events(`{"error":{"message":"no"}}`), unavailable, "no"},
		"named, bare":           {"event: error\n" + events(`{"message":"no","status":503}`), llm.Error{Code: unavailable.Code, Status: 503, Transient: true}, "no"},
		"named, a text":         {"event: error\n" + events("no"), unavailable, "no"},
		"named, without a word": {"event: error\n\n", unavailable, "unknown error"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := readError(t, serve(t, stream(tt.body)))
			if !strings.Contains(err.Err.Error(), tt.text) {
				t.Errorf("got %v, want %q in it", err, tt.text)
			}
			tt.want.Err = err.Err
			if diff := cmp.Diff(tt.want, *err, cmp.Comparer(sameText)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestTooLong are the words of servers that have no code for it, as a status,
// as a server's own trouble and in a stream.
func TestTooLong(t *testing.T) {
	tests := map[string]string{
		"llama.cpp":          "the request exceeds the available context size. try increasing the context size or enable context shift",
		"vLLM":               "This model's maximum context length is 4096 tokens. However, you requested 5001 tokens (4745 in the messages, 256 in the completion).",
		"vLLM, older":        "The decoder prompt (length 5000) is longer than the maximum model length of 4096.",
		"Ollama":             "the input length exceeds the context length",
		"Ollama, its engine": "prompt too long; exceeded max context length by 12 tokens",
		"OpenRouter":         "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens (39000 of text input, 1000 in the output).",
		"LM Studio":          "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens.",
		"TGI":                "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`",
	}
	for name, text := range tests {
		body := fmt.Sprintf(`{"error":{"message":%q}}`, text)
		answers := map[string]http.HandlerFunc{"400": respond(400, nil, body), "500": respond(500, nil, body), "stream": stream(events(body))}
		for where, answer := range answers {
			t.Run(name+" "+where, func(t *testing.T) {
				if e := readError(t, serve(t, answer)); e.Code != llm.CodeValidation || !e.TooLong || e.Transient {
					t.Errorf("got %#v, want a validation error that is too long", e)
				}
			})
		}
	}
}

func TestUsageBeforeAnErrorIsKept(t *testing.T) {
	p := serve(t, stream(events(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`)))
	if a := read(t, p, llmtest.Request()); a.Err == nil || a.Usage != (llm.Usage{Input: 3, Output: 1}) {
		t.Errorf("got %+v, %v", a.Usage, a.Err)
	}
}

func sameText(a, b error) bool { return a.Error() == b.Error() }
