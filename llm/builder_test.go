package llm_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

func TestBuilder(t *testing.T) {
	stop := llm.Delta{Finish: llm.FinishStop}
	say := func(text string) llm.Delta { return llm.Delta{Text: text} }
	call := func(index int, id, name, args string) llm.Delta {
		return llm.Delta{Call: &llm.CallDelta{Index: index, ID: id, Name: name, Args: args}}
	}
	text := func(s string) llm.Part { return llm.Part{Type: llm.Text, Text: s} }
	called := func(id, name, args string) llm.Part {
		return llm.Part{Type: llm.ToolCall, Call: id, Name: name, Args: json.RawMessage(args)}
	}
	tests := map[string]struct {
		deltas  []llm.Delta
		want    []llm.Part
		partial bool
	}{
		"nothing":                {nil, nil, true},
		"empty answer":           {[]llm.Delta{stop}, nil, false},
		"text":                   {[]llm.Delta{say("a"), say(""), say("b"), stop}, []llm.Part{text("ab")}, false},
		"all on the last delta":  {[]llm.Delta{{Text: "a", Finish: llm.FinishLength}}, []llm.Part{text("a")}, false},
		"broken text":            {[]llm.Delta{say("a")}, []llm.Part{text("a")}, true},
		"broken call":            {[]llm.Delta{say("a"), call(0, "x", "f", `{"a`)}, []llm.Part{text("a")}, true},
		"call":                   {[]llm.Delta{call(0, "x", "f", `{"a"`), call(0, "", "", `:1}`), stop}, []llm.Part{called("x", "f", `{"a":1}`)}, false},
		"id and name come once":  {[]llm.Delta{call(0, "x", "f", ""), call(0, "y", "g", "{}"), stop}, []llm.Part{called("x", "f", "{}")}, false},
		"calls by index":         {[]llm.Delta{call(2, "y", "g", ""), call(1, "x", "f", ""), stop}, []llm.Part{called("x", "f", "{}"), called("y", "g", "{}")}, false},
		"call without id":        {[]llm.Delta{call(0, "", "f", ""), call(1, "", "g", ""), stop}, []llm.Part{called("call_0", "f", "{}"), called("call_1", "g", "{}")}, false},
		"two calls with one id":  {[]llm.Delta{call(0, "x", "f", ""), call(1, "x", "g", ""), stop}, []llm.Part{called("x", "f", "{}"), called("x_1", "g", "{}")}, false},
		"blank arguments":        {[]llm.Delta{call(0, "x", "f", " \n"), stop}, []llm.Part{called("x", "f", "{}")}, false},
		"null arguments":         {[]llm.Delta{call(0, "x", "f", "null"), stop}, []llm.Part{called("x", "f", "{}")}, false},
		"arguments of no object": {[]llm.Delta{call(0, "x", "f", "[1]"), stop}, []llm.Part{called("x", "f", "[1]")}, false},
		"arguments of no JSON":   {[]llm.Delta{call(0, "x", "f", `{"a`), stop}, []llm.Part{{Type: llm.ToolCall, Call: "x", Name: "f", Text: `{"a`, Error: true}}, false},
		"reasoning": {
			[]llm.Delta{{Reasoning: "h"}, {Reasoning: "m"}, say("a"), stop},
			[]llm.Part{{Type: llm.Reasoning, Text: "hm", Provider: "p"}, text("a")},
			false,
		},
		"parts keep their order": {
			[]llm.Delta{{Reasoning: "h"}, {Meta: json.RawMessage(`1`)}, {Reasoning: "m"}, say("a"), call(0, "x", "f", ""), say("b"), {Meta: json.RawMessage(`2`)}, call(1, "y", "g", ""), stop},
			[]llm.Part{
				{Type: llm.Reasoning, Text: "h", Provider: "p", Meta: json.RawMessage(`1`)},
				{Type: llm.Reasoning, Text: "m", Provider: "p"},
				text("a"),
				called("x", "f", "{}"), text("b"),
				{Type: llm.Reasoning, Provider: "p", Meta: json.RawMessage(`2`)},
				called("y", "g", "{}"),
			},
			false,
		},
		"call cut at the longest length": {
			[]llm.Delta{
				{Call: &llm.CallDelta{Index: 0, ID: "x", Name: "f"}},
				{Call: &llm.CallDelta{Index: 1, ID: "y", Name: "f"}},
				{Finish: llm.FinishLength},
			},
			[]llm.Part{
				{Type: llm.ToolCall, Call: "x", Name: "f", Args: json.RawMessage("{}")},
				{Type: llm.ToolCall, Call: "y", Name: "f", Error: true},
			},
			false,
		},
		"call whose begin is all there is": {
			[]llm.Delta{{Call: &llm.CallDelta{ID: "x", Name: "f", Args: "{}"}}, {Finish: llm.FinishLength}},
			[]llm.Part{{Type: llm.ToolCall, Call: "x", Name: "f", Text: "{}", Error: true}},
			false,
		},
		"whole call, then cut": {
			[]llm.Delta{{Call: &llm.CallDelta{ID: "x", Name: "f"}}, say("a"), {Finish: llm.FinishLength}},
			[]llm.Part{{Type: llm.ToolCall, Call: "x", Name: "f", Args: json.RawMessage("{}")}, text("a")},
			false,
		},
		"call with meta": {
			[]llm.Delta{{Call: &llm.CallDelta{ID: "x", Name: "f", Meta: json.RawMessage(`1`)}}, stop},
			[]llm.Part{{Type: llm.ToolCall, Call: "x", Name: "f", Args: json.RawMessage("{}"), Provider: "p", Meta: json.RawMessage(`1`)}},
			false,
		},
		"media": {
			[]llm.Delta{say("a"), {Media: &llm.Media{MIME: "image/png", URL: "u"}}, stop},
			[]llm.Part{text("a"), {Type: llm.MediaPart, Media: &llm.Media{MIME: "image/png", URL: "u"}}},
			false,
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := llm.Builder{Provider: "p"}
			for _, d := range tt.deltas {
				b.Add(d)
			}
			want := llm.Message{Role: llm.Assistant, Parts: tt.want, Partial: tt.partial}
			if diff := cmp.Diff(want, b.Message()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(want, b.Message()); diff != "" {
				t.Errorf("second time: %s", diff)
			}
			data, err := json.Marshal(b.Message())
			if err != nil {
				t.Fatal(err)
			}
			var back llm.Message
			if err := json.Unmarshal(data, &back); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, back); diff != "" {
				t.Errorf("stored: %s", diff)
			}
		})
	}
}

func TestBuilderUsage(t *testing.T) {
	var b llm.Builder
	if b.Usage() != (llm.Usage{}) || b.Finish() != "" {
		t.Errorf("new builder has %+v, %q", b.Usage(), b.Finish())
	}
	b.Add(llm.Delta{Usage: &llm.Usage{Input: 3, Output: 1}})
	b.Add(llm.Delta{Text: "a"})
	b.Add(llm.Delta{Usage: &llm.Usage{Output: 2}, Finish: llm.FinishStop})
	if got := b.Usage(); got != (llm.Usage{Output: 2}) {
		t.Errorf("got %+v, want the last usage", got)
	}
}

func ExampleBuilder() {
	var b llm.Builder
	b.Add(llm.Delta{Text: "Hel"})
	b.Add(llm.Delta{Text: "lo"})
	fmt.Println(b.Message().Text(), b.Message().Partial)
	b.Add(llm.Delta{Finish: llm.FinishStop})
	fmt.Println(b.Message().Text(), b.Message().Partial)
	// Output:
	// Hello true
	// Hello false
}
