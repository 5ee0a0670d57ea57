package openai_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

// TestQuirks are servers that are compatible in their own way, and are
// understood all the same.
func TestQuirks(t *testing.T) {
	long := strings.Repeat("é", 3<<19)
	end := events(finish("stop"), "[DONE]")
	toolEnd := events(finish("tool_calls"), "[DONE]")
	f := func(id, args string) llm.Part { return toolCall(id, "f", args) }
	tests := map[string]struct {
		body string
		want []llm.Part
	}{
		"comments":                    {": OPENROUTER PROCESSING\n\n" + events(say("a")) + ":\n\n" + end, text("a")},
		"no space after the colon":    {strings.ReplaceAll(events(say("a"))+end, "data: ", "data:"), text("a")},
		"CRLF":                        {strings.ReplaceAll(events(say("a"))+end, "\n", "\r\n"), text("a")},
		"byte order mark":             {"\ufeff" + events(say("a")) + end, text("a")},
		"one newline after an event":  {strings.ReplaceAll(events(say("a"), say("b"))+end, "\n\n", "\n"), text("ab")},
		"data in two lines":           {"data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"a\"}}]}\n\n" + end, text("a")},
		"a line of 3 MB":              {events(say(long)) + end, text(long)},
		"named events":                {"event: chunk\n" + events(say("a")) + end, text("a")},
		"empty data":                  {"data:\n\n" + events(say("a")) + "data: \n\n" + end, text("a")},
		"no [DONE]":                   {events(say("a"), finish("stop")), text("a")},
		"no last newline":             {events(say("a")) + "data: " + finish("stop"), text("a")},
		"[DONE] without a finish":     {events(say("a"), "[DONE]"), text("a")},
		"words after [DONE]":          {events(say("a")) + end + events(say("b")), text("a")},
		"empty objects as lists":      {events(delta("[]"), `{"choices":[{"delta":{"content":"a","tool_calls":""}}],"error":[],"x_groq":[]}`, `{"choices":[{"delta":[],"message":[],"error":""}]}`) + end, text("a")},
		"odd types beside an answer":  {events(`{"id":[1],"created":"now","system_fingerprint":5,"choices":[{"index":"0","logprobs":"no","delta":{"role":5,"content":"a"}}]}`) + end, text("a")},
		"places in strings":           {events(call(`"index":"0","id":"x"`, "f", `"{\"a\""`), call(`"index":0.0`, "", `":1}"`)) + toolEnd, []llm.Part{f("x", `{"a":1}`)}},
		"delta null":                  {events(say("a"), delta("null")) + end, text("a")},
		"no choices":                  {events(`{"choices":[]}`, `{}`, say("a")) + end, text("a")},
		"content null":                {events(delta(`{"role":"assistant","content":null}`), say("a")) + end, text("a")},
		"content in parts":            {events(delta(`{"content":[{"type":"text","text":"a"},{"text":"b"}]}`)) + end, text("ab")},
		"numeric id, fractional date": {events(`{"id":1,"created":1.5,"choices":[{"delta":{"content":"a"}}]}`) + end, text("a")},
		"an id for each chunk":        {events(of(`"1"`, say("a")), of(`"2"`, finish("stop")), of(`"3"`, say("b")), of("4", say("c"))) + end, text("abc")},
		"ids changed amid":            {events(of(`"1"`, say("a")), of(`"1"`, say("b")), of(`"2"`, say("c")), of(`"2"`, finish("stop")), of(`"3"`, say("d"))) + end, text("abcd")},
		"no ids after the finish":     {events(of(`"1"`, say("a")), of(`"1"`, finish("stop")), of("null", say("b")), of(`""`, say("c")), say("d")) + end, text("abcd")},
		"an id for the usage":         {events(of(`"1"`, say("a")), of(`"1"`, finish("stop")), of(`"2"`, delta(`{"content":""}`))) + end, text("a")},
		"reasoning_content":           {events(delta(`{"reasoning_content":"hm"}`), say("a")) + end, append(thought("hm"), text("a")...)},
		"reasoning":                   {events(delta(`{"reasoning":"hm","content":""}`), say("a")) + end, append(thought("hm"), text("a")...)},
		"image": {
			events(say("a"), delta(`{"images":[{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBORw=="}}]}`)) + end,
			append(text("a"), llm.Part{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", MIME: "image/png", Size: 4, Data: []byte("\x89PNG")}}),
		},
		"image at a URL": {
			events(delta(`{"images":[{"image_url":{"url":"https://x/1.png"}}]}`)) + end,
			[]llm.Part{{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", URL: "https://x/1.png"}}},
		},
		"image that is none": {events(say("a"), delta(`{"images":[{"image_url":{"url":"data:image/png;base64,*"}},{"image_url":{}},{}]}`)) + end, text("a")},
		"image in plain JSON": {
			`{"choices":[{"message":{"content":"a","images":[{"image_url":{"url":"https://x/1.png"}}]},"finish_reason":"stop"}]}`,
			append(text("a"), llm.Part{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", URL: "https://x/1.png"}}),
		},
		"details of reasoning": {events(delta(`{"reasoning_details":[{"type":"reasoning.text","text":"hm"}],"reasoning":"hm"}`), say("a")) + end, append(thought("hm"), text("a")...)},
		"thinking among the parts": {
			events(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`), delta(`{"content":[{"type":"text","text":"a"}]}`)) + end,
			append(thought("hm"), text("a")...),
		},
		"thinking in tags":              {events(say("<think>"), say("hm"), say("</think>\n\na")) + end, append(thought("hm"), text("a")...)},
		"tags in pieces":                {events(say("\n<th"), say("ink>h"), say("m</thi"), say("nk>"), say("\n"), say(" a")) + end, append(thought("hm"), text("a")...)},
		"a tag that is never closed":    {events(say("<think>h"), say("m</")) + end, thought("hm</")},
		"a tag amid the text":           {events(say("a <think>"), say("b</think>")) + end, text("a <think>b</think>")},
		"what might have become a tag":  {events(say("\n<"), say("b>")) + end, text("\n<b>")},
		"the begin of a tag alone":      {events(say("<thi")) + end, text("<thi")},
		"the begin of a tag and a call": {events(say("<thi"), call(`"id":"x"`, "f", `"{}"`)) + toolEnd, append(text("<thi"), f("x", "{}"))},
		"details alone":                 {events(delta(`{"reasoning_details":[{"type":"reasoning.summary","summary":"hm"}]}`), say("a")) + end, append(thought("hm"), text("a")...)},
		"both kinds of reasoning":       {events(delta(`{"reasoning":"hm","reasoning_content":"hm"}`)) + end, thought("hm")},

		"arguments in pieces": {
			events(call(`"index":0,"id":"x"`, "f", `"{\"a\""`), call(`"index":0`, "", `":1}"`)) + toolEnd,
			[]llm.Part{f("x", `{"a":1}`)},
		},
		"finish stop with tools":     {events(call(`"index":0,"id":"x"`, "f", `"{}"`)) + end, []llm.Part{f("x", "{}")}},
		"no arguments":               {events(call(`"index":0,"id":"x"`, "f", `""`)) + toolEnd, []llm.Part{f("x", "{}")}},
		"arguments null":             {events(call(`"index":0,"id":"x"`, "f", `null`)) + toolEnd, []llm.Part{f("x", "{}")}},
		"arguments as object":        {events(call(`"index":0,"id":"x"`, "f", `{"a": 1}`)) + toolEnd, []llm.Part{f("x", `{"a": 1}`)}},
		"arguments that are no JSON": {events(call(`"index":0,"id":"x"`, "f", `"{"`)) + toolEnd, []llm.Part{{Type: llm.ToolCall, Call: "x", Name: "f", Text: "{", Error: true}}},
		"numeric id of a call":       {events(call(`"index":0,"id":7`, "f", `"{}"`)) + toolEnd, []llm.Part{f("7", "{}")}},
		"no id":                      {events(call(`"index":0`, "f", `"{}"`)) + toolEnd, []llm.Part{f("new", "{}")}},
		"empty id":                   {events(call(`"index":0,"id":""`, "f", `"{}"`)) + toolEnd, []llm.Part{f("new", "{}")}},
		"translated name":            {events(call(`"index":0,"id":"x"`, "files__read", `"{}"`)) + toolEnd, []llm.Part{toolCall("x", "files.read", "{}")}},
		"name that nobody has":       {events(call(`"index":0,"id":"x"`, "made__up", `"{}"`)) + toolEnd, []llm.Part{toolCall("x", "made__up", "{}")}},
		"text before a call":         {events(say("a"), call(`"id":"x"`, "f", `"{}"`)) + toolEnd, append(text("a"), f("x", "{}"))},
		"two calls with ids, no index": {
			events(call(`"id":"x"`, "f", `"{\"a\""`), call("", "", `":1}"`), call(`"id":"y"`, "f", `"{\"b\""`), call("", "", `":2}"`)) + toolEnd,
			[]llm.Part{f("x", `{"a":1}`), f("y", `{"b":2}`)},
		},
		"two calls without ids or index": {
			events(call("", "f", `"{\"a\""`), call("", "", `":1}"`), call("", "f", `"{\"b\":2}"`)) + toolEnd,
			[]llm.Part{f("new", `{"a":1}`), f("new", `{"b":2}`)},
		},
		"two calls in one chunk without index": {
			events(delta(`{"tool_calls":[{"function":{"name":"f","arguments":"{\"a\""}},{"function":{"name":"f","arguments":"{\"b\""}}]}`),
				delta(`{"tool_calls":[{"function":{"arguments":":1}"}},{"function":{"arguments":":2}"}}]}`)) + toolEnd,
			[]llm.Part{f("new", `{"a":1}`), f("new", `{"b":2}`)},
		},
		"two calls, both index 0": {
			events(call(`"index":0,"id":"x"`, "f", `"{\"a\":1}"`), call(`"index":0,"id":"y"`, "f", `"{\"b\""`), call(`"index":0`, "", `":2}"`)) + toolEnd,
			[]llm.Part{f("x", `{"a":1}`), f("y", `{"b":2}`)},
		},
		"two calls with the same id": {
			events(call(`"index":0,"id":"x"`, "f", `"{}"`), call(`"index":1,"id":"x"`, "f", `"{\"b\":2}"`)) + toolEnd,
			[]llm.Part{f("x", `{}`), f("x_1", `{"b":2}`)},
		},
		"two calls interleaved": {
			events(call(`"index":0,"id":"x"`, "f", `"{\"a\""`), call(`"index":1,"id":"y"`, "f", `"{\"b\""`), call(`"index":0`, "", `":1}"`), call(`"index":1`, "", `":2}"`)) + toolEnd,
			[]llm.Part{f("x", `{"a":1}`), f("y", `{"b":2}`)},
		},
		"id and name repeated": {
			events(call(`"index":0,"id":"x"`, "f", `"{\"a\""`), call(`"index":0,"id":"x"`, "f", `":1}"`)) + toolEnd,
			[]llm.Part{f("x", `{"a":1}`)},
		},
		"an id for each piece": {
			events(call(`"index":0,"id":"x"`, "f", `"{\"a\""`), call(`"index":0,"id":"y"`, "", `":1}"`), call(`"index":1,"id":"z"`, "f", `""`), call(`"index":1,"id":"w"`, "", `"{}"`)) + toolEnd,
			[]llm.Part{f("x", `{"a":1}`), f("z", `{}`)},
		},
		"arguments once more": {
			events(call(`"index":0,"id":"x"`, "f", `"{\"a\""`), call(`"index":0`, "", `":1}"`), call(`"index":0`, "", `"{\"a\":1}"`)) + toolEnd,
			[]llm.Part{f("x", `{"a":1}`)},
		},
		"arguments once more, quoted": {
			events(call(`"index":0,"id":"x"`, "f", `"{\"a\":1}"`), call(`"index":0,"id":"x"`, "f", `"\"{\\\"a\\\":1}\""`)) + toolEnd,
			[]llm.Part{f("x", `{"a":1}`)},
		},
		"a call that is no list": {events(delta(`{"tool_calls":{"index":0,"id":"x","function":{"name":"f","arguments":"{}"}}}`)) + toolEnd, []llm.Part{f("x", "{}")}},
		"name repeated without an id": {
			events(call(`"index":0`, "f", `"{\"a\""`), call(`"index":0`, "f", `":1}"`)) + toolEnd,
			[]llm.Part{f("new", `{"a":1}`)},
		},
		"another name without an id": {
			events(call(`"index":0`, "f", `""`), call(`"index":0`, "g", `"{}"`)) + toolEnd,
			[]llm.Part{f("new", `{}`), toolCall("new", "g", "{}")},
		},

		"plain JSON":                  {`{"choices":[{"message":{"content":"a","reasoning":"hm"},"finish_reason":"stop"}]}`, append(thought("hm"), text("a")...)},
		"plain JSON after keep-alive": {"\n \n" + `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, text("a")},
		"plain JSON with calls": {
			`{"choices":[{"message":{"content":null,"tool_calls":[{"id":"x","function":{"name":"f","arguments":"{}"}},{"id":"y","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
			[]llm.Part{f("x", "{}"), f("y", "{}")},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := read(t, serve(t, stream(tt.body)), toolRequest)
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			if diff := cmp.Diff(tt.want, normal(a.Message.Parts), withoutMeta); diff != "" {
				t.Error(diff)
			}
			want := llm.FinishStop
			if len(a.Message.Calls()) > 0 {
				want = llm.FinishToolCalls
			}
			if a.Finish != want {
				t.Errorf("got finish %q, want %q", a.Finish, want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	use := func(in, out int) string {
		return fmt.Sprintf(`"usage":{"prompt_tokens":%d,"completion_tokens":%d.0}`, in, out)
	}
	end := events(finish("stop"))
	tests := map[string]struct {
		body string
		want llm.Usage
	}{
		"none":       {events(say("a")) + end, llm.Usage{}},
		"in strings": {events(say("a"), `{"usage":{"prompt_tokens":"12","completion_tokens":null},"choices":[]}`) + end, llm.Usage{Input: 12}},
		"a list":     {events(say("a"), `{"usage":[],"choices":[]}`) + end, llm.Usage{}},
		"a word":     {events(say("a"), `{"usage":"unknown","choices":[]}`) + end, llm.Usage{}},
		"odd within": {
			events(say("a"), `{"usage":{"prompt_tokens":3,"completion_tokens":{"n":1},"total_tokens":"many","prompt_tokens_details":[],"completion_tokens_details":""},"choices":[]}`) + end,
			llm.Usage{Input: 3},
		},
		"too many":   {events(say("a"), `{"usage":{"prompt_tokens":1e400,"completion_tokens":"NaN"},"choices":[]}`) + end, llm.Usage{}},
		"null":       {events(say("a"), `{"usage":null,"choices":[]}`) + end, llm.Usage{}},
		"at the end": {events(say("a")) + end + events(`{"choices":[],`+use(3, 4)+`}`, "[DONE]"), llm.Usage{Input: 3, Output: 4}},
		"with the finish": {
			events(say("a"), `{"choices":[{"delta":{},"finish_reason":"stop"}],`+use(3, 4)+`}`),
			llm.Usage{Input: 3, Output: 4},
		},
		"in every chunk": {
			events(`{"choices":[{"delta":{"content":"a"}}],`+use(3, 1)+`}`, `{"choices":[{"delta":{"content":"b"}}],`+use(3, 2)+`}`) + end,
			llm.Usage{Input: 3, Output: 2},
		},
		"in detail": {
			events(say("a"), `{"usage":{"prompt_tokens":9,"completion_tokens":8,"prompt_tokens_details":{"cached_tokens":5},"completion_tokens_details":{"reasoning_tokens":6}}}`) + end,
			llm.Usage{Input: 9, CacheRead: 5, Output: 8, Reasoning: 6},
		},
		"as DeepSeek has it": {
			events(say("a"), `{"usage":{"prompt_tokens":9,"prompt_cache_hit_tokens":5,"prompt_tokens_details":null}}`) + end,
			llm.Usage{Input: 9, CacheRead: 5},
		},
		"in a choice": {
			events(say("a"), `{"choices":[{"delta":{},"finish_reason":"stop",`+use(3, 4)+`}]}`),
			llm.Usage{Input: 3, Output: 4},
		},
		"written to a cache": {
			events(say("a"), `{"usage":{"prompt_tokens":9,"prompt_tokens_details":{"cached_tokens":2,"cache_write_tokens":5}}}`) + end,
			llm.Usage{Input: 9, CacheRead: 2, CacheWrite: 5},
		},
		"of Groq": {
			events(say("a"), `{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{`+use(3, 4)+`}}`),
			llm.Usage{Input: 3, Output: 4},
		},
		"of Moonshot": {events(say("a"), `{"choices":[],"usage":{"prompt_tokens":9,"cached_tokens":5}}`) + end, llm.Usage{Input: 9, CacheRead: 5}},
		"with reasoning in the total alone": {
			events(say("a"), `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":2,"total_tokens":329,"completion_tokens_details":{"reasoning_tokens":317}}}`) + end,
			llm.Usage{Input: 10, Output: 319, Reasoning: 317},
		},
		"with a total and no details": {
			events(say("a"), `{"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":424,"total_tokens":1016}}`) + end,
			llm.Usage{Input: 20, Output: 996},
		},
		"with a cache in the total": {
			events(say("a"), `{"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":4,"total_tokens":124,"prompt_tokens_details":{"cached_tokens":100}}}`) + end,
			llm.Usage{Input: 20, CacheRead: 100, Output: 4},
		},
		"with reasoning in no sum": {
			events(say("a"), `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":7,"total_tokens":10,"reasoning_tokens":90}}`) + end,
			llm.Usage{Input: 3, Output: 97, Reasoning: 90},
		},
		"of plain JSON": {
			`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],` + use(3, 4) + `}`,
			llm.Usage{Input: 3, Output: 4},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := read(t, serve(t, stream(tt.body)), toolRequest)
			if a.Err != nil || a.Usage != tt.want {
				t.Errorf("got %+v, %v, want %+v", a.Usage, a.Err, tt.want)
			}
		})
	}
}

func TestFinish(t *testing.T) {
	tests := map[string]llm.Finish{
		"stop": llm.FinishStop, "end_turn": llm.FinishStop, "tool_calls": llm.FinishStop,
		"length": llm.FinishLength, "max_tokens": llm.FinishLength, "content_filter": llm.FinishContentFilter,
		"model_length": llm.FinishLength, "SAFETY": llm.FinishContentFilter,
		"model_context_window_exceeded": llm.FinishLength, "PROHIBITED_CONTENT": llm.FinishContentFilter, "BLOCKLIST": llm.FinishContentFilter,
		"RECITATION": llm.FinishContentFilter, "SPII": llm.FinishContentFilter, "eos": llm.FinishStop, "tomorrow": llm.FinishStop,
	}
	for reason, want := range tests {
		t.Run(reason, func(t *testing.T) {
			a := read(t, serve(t, stream(events(say("a"), finish(reason)))), toolRequest)
			if a.Err != nil || a.Finish != want {
				t.Errorf("got %q, %v, want %q", a.Finish, a.Err, want)
			}
		})
	}
}

func TestRefusal(t *testing.T) {
	tests := map[string]string{
		"stream":     events(delta(`{"refusal":"no"}`), finish("stop"), "[DONE]"),
		"plain JSON": `{"choices":[{"message":{"content":null,"refusal":"no"},"finish_reason":"stop"}]}`,
	}
	for name, body := range tests {
		t.Run(name, func(t *testing.T) {
			a := read(t, serve(t, stream(body)), toolRequest)
			if a.Err != nil || a.Finish != llm.FinishContentFilter || a.Message.Text() != "no" {
				t.Errorf("got %q, %q, %v", a.Message.Text(), a.Finish, a.Err)
			}
		})
	}
}

// TestFinishAmid is a server that says in each chunk that it has finished, and is slow.
func TestFinishAmid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := provider(t, llm.Config{}, roundTripper(func(r *http.Request) (*http.Response, error) {
			pr, pw := io.Pipe()
			context.AfterFunc(r.Context(), func() { pw.CloseWithError(context.Canceled) })
			go func() {
				for _, word := range []string{"a", "b", "c"} {
					fmt.Fprintf(pw, "data: {\"choices\":[{\"delta\":{\"content\":%q},\"finish_reason\":\"stop\"}]}\n\n", word)
					time.Sleep(1500 * time.Millisecond)
				}
				io.WriteString(pw, "data: [DONE]\n\n")
				pw.Close()
			}()
			return &http.Response{StatusCode: 200, Body: pr}, nil
		}))
		if a := read(t, p, toolRequest); a.Err != nil || a.Message.Text() != "abc" {
			t.Errorf("got %q, %v, want abc", a.Message.Text(), a.Err)
		}
	})
}

// TestFinishNull is a server that has the word for it.
func TestFinishNull(t *testing.T) {
	p := serve(t, stream(events(`{"choices":[{"delta":{"content":"a"},"finish_reason":"null"}]}`)))
	if a := read(t, p, toolRequest); a.Err == nil {
		t.Errorf("got %q, want an error", a.Message.Text())
	}
}

// TestSmallReads has every rune and every line end split between two reads.
func TestSmallReads(t *testing.T) {
	sent := strings.ReplaceAll(events(say("hé"), say("llo 🌍"), finish("stop"), "[DONE]"), "\n", "\r\n")
	p := provider(t, llm.Config{Model: "m"}, body(func() io.Reader { return iotest.OneByteReader(strings.NewReader(sent)) }))
	if a := read(t, p, toolRequest); a.Err != nil || a.Message.Text() != "héllo 🌍" {
		t.Errorf("got %q, %v", a.Message.Text(), a.Err)
	}
}

var toolRequest = llm.Request{
	Model: "m", Messages: []llm.Message{llm.UserText("hi")},
	Tools: []llm.ToolDef{{Name: "f"}, {Name: "g"}, {Name: "files.read"}},
}

// call is a chunk with a piece of a tool call: its first fields, as they are
// written, then the function.
func call(fields, name, args string) string {
	if fields != "" {
		fields += ","
	}
	named := ""
	if name != "" {
		named = fmt.Sprintf(`"name":%q,`, name)
	}
	return delta(`{"tool_calls":[{` + fields + `"function":{` + named + `"arguments":` + args + `}}]}`)
}

func text(s string) []llm.Part    { return []llm.Part{{Type: llm.Text, Text: s}} }
func thought(s string) []llm.Part { return []llm.Part{{Type: llm.Reasoning, Text: s}} }

// withoutMeta leaves out what only the provider itself reads.
var withoutMeta = cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Meta" }, cmp.Ignore())

func toolCall(id, name, args string) llm.Part {
	return llm.Part{Type: llm.ToolCall, Call: id, Name: name, Args: []byte(args)}
}

var madeUp = regexp.MustCompile(`^call_[A-Z2-7]{26}$`)

// normal gives ids that were made up a name.
func normal(parts []llm.Part) []llm.Part {
	seen := map[string]bool{}
	for i, p := range parts {
		if madeUp.MatchString(p.Call) && !seen[p.Call] {
			seen[p.Call] = true
			parts[i].Call = "new"
		}
	}
	return parts
}
