package anthropic_test

import (
	"io"
	"regexp"
	"strings"
	"testing"
	"testing/iotest"

	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

// toolRequest offers f and files.read.
var toolRequest = llm.Request{
	Model: "m", Messages: []llm.Message{llm.UserText("hello")},
	Tools: []llm.ToolDef{{Name: "f"}, {Name: "files.read"}},
}

func text(s string) []llm.Part { return []llm.Part{{Type: llm.Text, Text: s}} }

func toolCall(id, name, args string) llm.Part {
	return llm.Part{Type: llm.ToolCall, Call: id, Name: name, Args: []byte(args)}
}

func thought(text, meta string) llm.Part {
	p := llm.Part{Type: llm.Reasoning, Text: text}
	if meta != "" {
		p.Meta = []byte(meta)
	}
	return p
}

// TestQuirks are streams that differ from the usual, and are understood all the
// same.
func TestQuirks(t *testing.T) {
	long := strings.Repeat("é", 3<<19)
	open := events(start(`"input_tokens":3`), begin(0, textBlock))
	over := events(done(0), stop("end_turn"), end)
	toolOver := events(done(0), stop("tool_use"), end)
	f := func(args string) []llm.Part { return []llm.Part{toolCall("toolu_1", "f", args)} }
	tests := map[string]struct {
		body string
		want []llm.Part
	}{
		"comments":                      {": hello\n\n" + open + ":\n\n" + events(say("a")) + over, text("a")},
		"CRLF":                          {strings.ReplaceAll(answered("a"), "\n", "\r\n"), text("a")},
		"byte order mark":               {"\ufeff" + answered("a"), text("a")},
		"no names":                      {regexp.MustCompile(`event: .*\n`).ReplaceAllString(answered("a"), ""), text("a")},
		"pings":                         {open + events(`{"type":"ping"}`, say("a"), `{"type":"ping"}`) + over, text("a")},
		"a ping without data":           {"event: ping\n\n" + answered("a"), text("a")},
		"unknown events":                {open + events(`{"type":"new_thing","delta":{"text":"x"}}`, say("a")) + over, text("a")},
		"a line of 3 MB":                {open + events(say(long)) + over, text(long)},
		"no message_stop":               {open + events(say("a"), done(0), stop("end_turn")), text("a")},
		"no content_block_stop":         {open + events(say("a"), stop("end_turn"), end), text("a")},
		"no content_block_start":        {events(start(""), say("a")) + over, text("a")},
		"no message_start":              {events(begin(0, textBlock), say("a")) + over, text("a")},
		"start repeated":                {open + events(start(""), say("a")) + over, text("a")},
		"start without an id":           {open + events(startOf("null"), startOf(`""`), say("a")) + over, text("a")},
		"id only later":                 {events(startOf("null"), begin(0, textBlock), startOf(`"b"`), say("a")) + over, text("a")},
		"numeric ids":                   {events(startOf("1"), begin(0, textBlock), startOf("1"), say("a")) + over, text("a")},
		"start of a gateway":            {events(startOf(`"gateway"`), start(""), begin(0, textBlock), say("a")) + over, text("a")},
		"no reason":                     {open + events(say("a"), done(0), end), text("a")},
		"usage in strings":              {events(start(`"input_tokens":"3"`), begin(0, textBlock), say("a"), done(0), `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":"many"}}`) + events(end), text("a")},
		"usage a list":                  {events(start(`"input_tokens":{}`), begin(0, textBlock), say("a"), done(0), `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":[]}`) + events(end), text("a")},
		"place in a string":             {open + events(`{"type":"content_block_delta","index":"0","delta":{"type":"text_delta","text":"a"}}`) + over, text("a")},
		"reason a number":               {open + events(say("a"), `{"type":"message_delta","delta":{"stop_reason":1}}`) + over, text("a")},
		"unknown events in other types": {open + events(`{"type":"info","message":"x","delta":"y","content_block":[1],"index":{},"usage":"z"}`, say("a")) + over, text("a")},
		"number for the id of a call": {
			open + events(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":7,"name":"f","input":{}}}`) + toolOver,
			[]llm.Part{toolCall("7", "f", "{}")},
		},
		"reason null":             {open + events(say("a"), `{"type":"message_delta","delta":{"stop_reason":null},"usage":null}`) + over, text("a")},
		"no last newline":         {strings.TrimRight(open+events(say("a"), done(0), stop("end_turn")), "\n"), text("a")},
		"words after the end":     {answered("a") + events(say("b")), text("a")},
		"[DONE]":                  {open + events(say("a"), stop("end_turn")) + "data: [DONE]\n\n", text("a")},
		"text in the first event": {events(start(""), begin(0, `{"type":"text","text":"a"}`), say("b")) + over, text("ab")},
		"text null":               {open + events(delta(0, `{"type":"text_delta","text":null}`), say("a")) + over, text("a")},
		"unknown deltas":          {open + events(delta(0, `{"type":"citations_delta","citation":{"text":"x"}}`), say("a")) + over, text("a")},

		"unknown blocks": {
			events(start(""), begin(0, `{"type":"server_tool_use","id":"x","name":"web_search","input":{}}`), args(0, `{"q":1}`), done(0),
				begin(1, `{"type":"web_search_tool_result","tool_use_id":"x","content":[]}`), done(1),
				begin(2, textBlock), delta(2, `{"type":"text_delta","text":"a"}`), done(2), stop("end_turn"), end),
			text("a"),
		},
		"two texts": {
			events(start(""), begin(0, textBlock), say("a"), done(0), begin(1, textBlock), delta(1, `{"type":"text_delta","text":"b"}`), done(1), stop("end_turn"), end),
			text("ab"),
		},

		"arguments in pieces":        {events(begin(0, toolBlock), args(0, ""), args(0, `{"a"`), args(0, `:1}`)) + toolOver, f(`{"a":1}`)},
		"arguments at the start":     {events(begin(0, strings.Replace(toolBlock, "{}", `{"a":1}`, 1))) + toolOver, f(`{"a":1}`)},
		"arguments null":             {events(begin(0, strings.Replace(toolBlock, "{}", `null`, 1))) + toolOver, f(`{}`)},
		"no arguments":               {events(begin(0, toolBlock)) + toolOver, f(`{}`)},
		"arguments that are no JSON": {events(begin(0, toolBlock), args(0, "{")) + toolOver, []llm.Part{{Type: llm.ToolCall, Call: "toolu_1", Name: "f", Text: "{", Error: true}}},
		"arguments of nobody":        {open + events(args(7, "{}"), say("a")) + over, text("a")},
		"end_turn with a call":       {events(begin(0, toolBlock)) + over, f(`{}`)},
		"no id":                      {events(begin(0, `{"type":"tool_use","name":"f","input":{}}`)) + toolOver, []llm.Part{toolCall("new", "f", "{}")}},
		"translated name":            {events(begin(0, `{"type":"tool_use","id":"x","name":"files__read"}`)) + toolOver, []llm.Part{toolCall("x", "files.read", "{}")}},
		"two calls interleaved": {
			events(begin(0, toolBlock), begin(1, `{"type":"tool_use","id":"y","name":"f"}`), args(0, `{"a"`), args(1, `{"b"`), args(0, `:1}`), args(1, `:2}`)) + toolOver,
			append(f(`{"a":1}`), toolCall("y", "f", `{"b":2}`)),
		},
		"two calls at index 0": {
			events(begin(0, toolBlock), args(0, `{"a":1}`), done(0), begin(0, `{"type":"tool_use","id":"y","name":"f"}`), args(0, `{"b":2}`)) + toolOver,
			append(f(`{"a":1}`), toolCall("y", "f", `{"b":2}`)),
		},

		"signature in pieces": {
			events(begin(0, `{"type":"thinking","thinking":"h","signature":""}`), delta(0, `{"type":"thinking_delta","thinking":"m"}`),
				delta(0, `{"type":"signature_delta","signature":"a+/"}`), delta(0, `{"type":"signature_delta","signature":"b="}`), done(0),
				begin(1, textBlock), say("a")) + over,
			append([]llm.Part{thought("hm", `{"signature":"a+/b="}`)}, text("a")...),
		},
		"no signature":      {events(begin(0, `{"type":"thinking","thinking":"hm"}`), done(0), begin(1, textBlock), say("a")) + over, append([]llm.Part{thought("hm", "")}, text("a")...)},
		"hidden thinking":   {events(begin(0, `{"type":"thinking","thinking":"","signature":"s"}`), done(0), begin(1, textBlock), say("a")) + over, append([]llm.Part{thought("", `{"signature":"s"}`)}, text("a")...)},
		"thinking not shut": {events(begin(0, `{"type":"thinking","thinking":"hm","signature":"s"}`)) + events(stop("end_turn"), end), []llm.Part{thought("hm", `{"signature":"s"}`)}},
		"thinking not shut before a text": {
			events(begin(0, `{"type":"thinking","thinking":"hm","signature":"s"}`), begin(1, textBlock), say("a")) + over, append([]llm.Part{thought("hm", `{"signature":"s"}`)}, text("a")...),
		},
		"redacted thinking": {
			events(begin(0, `{"type":"redacted_thinking","data":"x"}`), done(0), begin(1, `{"type":"redacted_thinking","data":"y"}`), done(1), begin(2, textBlock), say("a")) + over,
			append([]llm.Part{thought("", `{"redacted":"x"}`), thought("", `{"redacted":"y"}`)}, text("a")...),
		},

		"plain JSON": {`{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"a"},` +
			`{"type":"tool_use","id":"x","name":"f","input":{"a":1}}],"stop_reason":"tool_use","usage":{"input_tokens":1}}`, []llm.Part{thought("hm", `{"signature":"s"}`), text("a")[0], toolCall("x", "f", `{"a":1}`)}},
		"plain JSON after keep-alive": {"\n \n" + `{"type":"message","content":[{"type":"text","text":"a"}],"stop_reason":"end_turn"}`, text("a")},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := read(t, serve(t, stream(tt.body)), toolRequest)
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			if diff := cmp.Diff(tt.want, normal(a.Message.Parts)); diff != "" {
				t.Error(diff)
			}
			want := llm.FinishStop
			if len(a.Message.Calls()) > 0 {
				want = llm.FinishToolCalls
			}
			if a.Finish != want {
				t.Errorf("finish %q, want %q", a.Finish, want)
			}
		})
	}
}

// normal replaces ids that we made up.
func normal(parts []llm.Part) []llm.Part {
	for i, p := range parts {
		if len(p.Call) > 20 {
			parts[i].Call = "new"
		}
	}
	return parts
}

func TestOneByteAtATime(t *testing.T) {
	p := provider(t, llm.Config{}, body(func() io.Reader { return iotest.OneByteReader(strings.NewReader(answered("wörld 🌍"))) }))
	if a := read(t, p, toolRequest); a.Err != nil || a.Message.Text() != "wörld 🌍" {
		t.Errorf("got %q, %v", a.Message.Text(), a.Err)
	}
}

func TestFinishReasons(t *testing.T) {
	tests := map[string]llm.Finish{
		"end_turn":                      llm.FinishStop,
		"stop_sequence":                 llm.FinishStop,
		"pause_turn":                    llm.FinishStop,
		"tool_use":                      llm.FinishStop, // without a call there is nothing to run
		"something_new":                 llm.FinishStop,
		"max_tokens":                    llm.FinishLength,
		"model_context_window_exceeded": llm.FinishLength,
		"refusal":                       llm.FinishContentFilter,
	}
	for reason, want := range tests {
		a := read(t, serve(t, stream(events(start(""), begin(0, textBlock), say("a"), done(0), stop(reason), end))), toolRequest)
		if a.Err != nil || a.Finish != want {
			t.Errorf("%s: got %q, %v, want %q", reason, a.Finish, a.Err, want)
		}
	}
}

func TestUsage(t *testing.T) {
	message := func(usage string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{` + usage + `}}`
	}
	tests := map[string]struct {
		start, delta string
		want         llm.Usage
	}{
		"with a cache": {
			`"input_tokens":3,"cache_creation_input_tokens":20,"cache_read_input_tokens":100,"output_tokens":1`, `"output_tokens":9`,
			llm.Usage{Input: 123, CacheRead: 100, CacheWrite: 20, Output: 9},
		},
		"repeated at the end":   {`"input_tokens":3,"output_tokens":1`, `"input_tokens":3,"output_tokens":9`, llm.Usage{Input: 3, Output: 9}},
		"only at the end":       {`"input_tokens":0,"output_tokens":0`, `"input_tokens":3,"output_tokens":9`, llm.Usage{Input: 3, Output: 9}},
		"nulls":                 {`"input_tokens":3,"cache_read_input_tokens":null`, `"output_tokens":9`, llm.Usage{Input: 3, Output: 9}},
		"floats":                {`"input_tokens":3.0`, `"output_tokens":9.0`, llm.Usage{Input: 3, Output: 9}},
		"none":                  {``, ``, llm.Usage{}},
		"the server's tools":    {`"input_tokens":3`, `"output_tokens":9,"server_tool_use":{"web_search_requests":1}`, llm.Usage{Input: 3, Output: 9}},
		"the input has grown":   {`"input_tokens":3`, `"input_tokens":30,"output_tokens":9`, llm.Usage{Input: 30, Output: 9}},
		"cache only at the end": {`"input_tokens":3`, `"cache_read_input_tokens":7,"output_tokens":9`, llm.Usage{Input: 10, CacheRead: 7, Output: 9}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := read(t, serve(t, stream(events(start(tt.start), begin(0, textBlock), say("a"), done(0), message(tt.delta), end))), toolRequest)
			if a.Err != nil {
				t.Fatal(a.Err)
			}
			if diff := cmp.Diff(tt.want, a.Usage); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestUsageBeforeAnErrorIsKept: what was sent is paid for, whatever becomes of
// the answer.
func TestUsageBeforeAnErrorIsKept(t *testing.T) {
	p := serve(t, stream(events(start(`"input_tokens":3,"output_tokens":1`), begin(0, textBlock), say("a"))))
	if a := read(t, p, toolRequest); a.Err == nil || a.Usage != (llm.Usage{Input: 3, Output: 1}) {
		t.Errorf("got %+v, %v", a.Usage, a.Err)
	}
}
