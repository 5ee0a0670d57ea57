//go:build long

package openai_test

import (
	"fmt"
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

// TestServers are the servers that base_url is pointed at, each with what its
// documentation, or an issue of its users, says that it does in its own way.
func TestServers(t *testing.T) {
	styles := map[string]llmtest.Server{}
	for name, style := range servers {
		styles[name] = style.server()
	}
	if n := llmtest.Servers(t, dialect, styles); n < 546 {
		t.Errorf("%d different streams, want 546 at least", n)
	}
}

var servers = map[string]serverStyle{
	"OpenAI": {fields: `,"obfuscation":"h3"`},
	"Azure": {
		opening: `{"id":"","object":"","created":0,"model":"","choices":[],"prompt_filter_results":[{"prompt_index":0,"content_filter_results":{}}]}`,
		also:    `,"content_filter_results":{"hate":{"filtered":false}}`,
	},
	"Ollama": {
		role: true, thinks: "reasoning", idle: `"content":"",`, call: callStyle{whole: true},
		fails: []string{`data: {"error":"it is broken"}`, ""},
	},
	"Ollama before 0.5": { // no index, and a stop beside calls
		role: true, opening: "none", call: callStyle{whole: true, index: "none"},
		reasons: map[llm.Finish]string{llm.FinishToolCalls: "stop"}, usage: "none",
	},
	"llama.cpp": {
		opening: `{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}]}`, thinks: "reasoning_content",
		fails: []string{`data: {"error":{"code":500,"message":"it is broken","type":"server_error"}}`, ""}, done: "data: [DONE]\n",
	},
	"llama.cpp of 2025": { // a field of its own for errors
		opening: `{"choices":[{"finish_reason":null,"index":0,"delta":{"role":"assistant","content":null}}]}`, thinks: "reasoning_content",
		fails: []string{`error: {"code":500,"message":"it is broken","type":"server_error"}`, ""}, call: callStyle{object: true, whole: true},
	},
	"vLLM": {
		thinks: "reasoning", also: `,"logprobs":null,"stop_reason":null`, call: callStyle{id: "empty"},
		fails: []string{`data: {"error":{"message":"it is broken","type":"InternalServerError","param":null,"code":500}}`, ""},
	},
	"vLLM of 2024": { // an id for each piece of a call, and an error that is the chunk
		thinks: "reasoning_content", call: callStyle{id: "changing"},
		fails: []string{`data: {"object":"error","message":"it is broken","type":"InternalServerError","param":null,"code":500}`, ""},
	},
	"vLLM without parsers": {thinks: "tags", call: callStyle{whole: true}, also: `,"stop_reason":null`},
	"SGLang": {
		thinks: "reasoning_content", call: callStyle{index: "zero", id: "each"}, also: `,"matched_stop":null`,
		count: func(u llm.Usage) string {
			return fmt.Sprintf(`{"prompt_tokens":%d,"total_tokens":%d,"completion_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"reasoning_tokens":4}`,
				u.Input, u.Input+u.Output, u.Output, u.CacheRead)
		},
		thought: 4,
		fails:   []string{`data: {"error":{"object":"error","message":"it is broken","type":"InternalServerError","param":null,"code":500}}`, ""},
	},
	"LMDeploy": {thinks: "reasoning_content", call: callStyle{index: "zero", id: "empty", name: "null"}},
	"LM Studio": {
		thinks: "split tags", also: `,"logprobs":null`, fields: `,"system_fingerprint":"m"`,
		fails: []string{`event: error`, `data: {"error":{"message":"it is broken"}}`, ""},
	},
	"TGI": { // a call that is no list, no ids, no space
		field: "data:", id: "none", opening: "none", call: callStyle{alone: true, id: "empty"}, done: "none",
		reasons: map[llm.Finish]string{llm.FinishStop: "eos_token"}, usage: "finish",
		fails: []string{`data:{"error":"Request failed during generation","error_type":"generation"}`, ""},
	},
	"LiteLLM": {
		opening: "none", thinks: "reasoning_content", idle: `"content":null,`, call: callStyle{id: "each", repeats: "quoted"},
		fails: []string{`data: {"error":{"message":"it is broken","type":"None","param":"None","code":"500"}}`, ""},
	},
	"OpenRouter": {
		prelude: ": OPENROUTER PROCESSING\n\n: OPENROUTER PROCESSING\n\n", role: true, opening: "none", thinks: "reasoning",
		fields: `,"provider":"Upstream"`, also: `,"native_finish_reason":null`,
		fails: []string{`data: {"id":"c1","choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"it is broken"}}`, ""},
	},
	"OpenRouter, details alone": {
		between: ": OPENROUTER PROCESSING\n\n", role: true, opening: "none", thinks: "details", usage: "finish",
		fails: []string{`data: {"choices":[{"delta":{"content":""},"finish_reason":"error","error":{"code":502,"message":"it is broken"}}]}`, ""},
	},
	"Groq": {
		opening: `{"id":"c1","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"x_groq":{"id":"r1"}}`,
		thinks:  "reasoning", call: callStyle{whole: true, together: true}, usage: "x_groq",
		fails: []string{`event: error`, `data: {"error":{"message":"it is broken","type":"invalid_request_error","code":"tool_use_failed","status_code":400}}`, ""},
	},
	"Groq, stopped early": {
		opening: `{"id":"c1","choices":[{"index":0,"delta":{"role":"assistant"},"finish_reason":null}],"x_groq":{"id":"r1"}}`, usage: "x_groq",
		fails: []string{`data: {"id":"c1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r1","error":"it is broken"}}`, ""},
	},
	"DeepSeek": {
		prelude: ": keep-alive\n\n: keep-alive\n\n", thinks: "reasoning_content", idle: `"content":null,`, usage: "finish",
		count: func(u llm.Usage) string {
			return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_cache_hit_tokens":%d,"prompt_cache_miss_tokens":%d}`,
				u.Input, u.Output, u.Input+u.Output, u.CacheRead, u.Input-u.CacheRead)
		},
		fails: []string{`data: {"choices":[{"index":0,"delta":{},"finish_reason":"insufficient_system_resource"}]}`, ""},
	},
	"Mistral": { // thoughts among the parts of the content, whole calls with the reason
		thinks: "parts", together: true, call: callStyle{whole: true, together: true, id: "each"}, usage: "finish",
		reasons: map[llm.Finish]string{llm.FinishLength: "model_length"},
	},
	"Together": {thinks: "tags", usage: "finish", reasons: map[llm.Finish]string{llm.FinishStop: "eos"}, call: callStyle{id: "each"}},
	"Fireworks": {
		usage: "finish", thinks: "reasoning_content", call: callStyle{id: "each", name: "each"}, also: `,"raw_output":null`,
		fails: []string{`data: {"error":{"object":"error","type":"internal_server_error","code":"internal_server_error","message":"it is broken"}}`, ""},
	},
	"xAI": { // the reasoning is counted beside the rest
		role: true, opening: "none", thinks: "reasoning_content", call: callStyle{whole: true}, usage: "each",
		count: func(u llm.Usage) string {
			return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"completion_tokens_details":{"reasoning_tokens":4}}`,
				u.Input, u.Output-4, u.Input+u.Output, u.CacheRead)
		},
		thought: 4,
	},
	"Cerebras": {thinks: "reasoning", usage: "finish", fields: `,"time_info":{"queue_time":0.1}`, call: callStyle{whole: true}},
	"Moonshot": { // the usage is the choice's
		thinks: "reasoning_content", usage: "choice",
		count: func(u llm.Usage) string {
			return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"cached_tokens":%d}`, u.Input, u.Output, u.Input+u.Output, u.CacheRead)
		},
		fails: []string{`data: {"error":{"type":"engine_overloaded_error","message":"it is broken"}}`, ""},
	},
	"DashScope": {
		thinks: "reasoning_content", idle: `"content":null,`, call: callStyle{id: "empty", name: "null"}, fields: `,"usage":null`,
		opening: `{"choices":[{"delta":{"content":null,"role":"assistant","reasoning_content":""},"index":0,"logprobs":null,"finish_reason":null}]}`,
	},
	"Zhipu": {
		role: true, opening: "none", thinks: "reasoning_content", usage: "finish", call: callStyle{whole: true, id: "each"},
		reasons: map[llm.Finish]string{llm.FinishContentFilter: "sensitive", llm.FinishLength: "model_context_window_exceeded"}, refusal: "content",
		fails: []string{`data: {"choices":[{"index":0,"finish_reason":"network_error","delta":{"role":"assistant","content":""}}]}`, ""},
	},
	"Perplexity": { // what was said so far beside what is new, and no [DONE]
		role: true, opening: "none", thinks: "tags", usage: "each", also: `,"message":{"role":"assistant","content":"Hello"}`, done: "none", noTools: true,
		count: func(u llm.Usage) string {
			return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d},"cost":{"total_cost":0.006}}`,
				u.Input, u.Output, u.Input+u.Output, u.CacheRead)
		},
	},
	"MiniMax": {thinks: "tags", call: callStyle{name: "each", whole: true, id: "each"}, role: true, usage: "finish", opening: "none"},
	"NVIDIA":  {thinks: "reasoning_content", call: callStyle{name: "each"}, also: `,"stop_reason":null`},
	"Gemini": { // calls of index 0 with a signature, a stop beside calls, thoughts counted in the total alone
		role: true, opening: "none", together: true, usage: "each",
		call:    callStyle{whole: true, index: "zero", extra: `"extra_content":{"google":{"thought_signature":"c2ln"}}`},
		reasons: map[llm.Finish]string{llm.FinishToolCalls: "stop", llm.FinishContentFilter: "PROHIBITED_CONTENT", llm.FinishLength: "MAX_TOKENS"},
		refusal: "content",
		count: func(u llm.Usage) string {
			return fmt.Sprintf(`{"prompt_tokens":%d,"completion_tokens":1,"total_tokens":%d,"prompt_tokens_details":{"cached_tokens":%d}}`, u.Input, u.Input+u.Output, u.CacheRead)
		},
		fails: []string{`data: {"choices":[{"delta":{"role":"assistant"},"finish_reason":"MALFORMED_FUNCTION_CALL","index":0}]}`, ""},
	},
	"gateway to Anthropic": {
		role: true, call: callStyle{id: "each", name: "each"}, usage: "finish",
		reasons: map[llm.Finish]string{llm.FinishStop: "end_turn", llm.FinishToolCalls: "tool_use", llm.FinishLength: "max_tokens"},
	},
	"gateway to Cohere": {
		opening: "none", call: callStyle{id: "none", index: "none", whole: true}, content: "parts",
		reasons: map[llm.Finish]string{llm.FinishStop: "COMPLETE", llm.FinishToolCalls: "TOOL_CALL", llm.FinishLength: "MAX_TOKENS"},
	},
	"gateway that repeats arguments": {call: callStyle{repeats: "text"}, id: "each", named: "chunk"},
	"gateway with late names":        {call: callStyle{name: "late"}, id: "none", usage: "each"},
	"gateway with numbers for ids":   {call: callStyle{id: "number", whole: true}, refusal: "content", done: "data: [DONE]\n\ndata: [DONE]\n\n"},
	"CRLF":                           {eol: "\r\n", prelude: "\ufeff: hello\r\n", thinks: "reasoning_content"},
	"CR":                             {eol: "\r", thinks: "reasoning"},
	"two lines of data":              {split: true, thinks: "reasoning"},
	"no empty lines":                 {tight: true, thinks: "reasoning_content"},
	"no stream":                      {whole: true, thinks: "reasoning_content", call: callStyle{whole: true}},
}
