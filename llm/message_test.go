package llm_test

import (
	"testing"

	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

func TestMessageText(t *testing.T) {
	tests := map[string]struct {
		parts []llm.Part
		want  string
	}{
		"none":     {nil, ""},
		"one":      {[]llm.Part{{Type: llm.Text, Text: "a"}}, "a"},
		"not text": {[]llm.Part{{Type: llm.Reasoning, Text: "a"}}, ""},
		"mixed":    {[]llm.Part{{Type: llm.Text, Text: "a"}, {Type: llm.Reasoning, Text: "b"}, {Type: llm.Text, Text: "c"}}, "ac"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := (llm.Message{Parts: tt.parts}).Text(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCalls(t *testing.T) {
	m := llm.Message{Parts: []llm.Part{{Type: llm.Text}, {Type: llm.ToolCall, Call: "x"}, {Type: llm.ToolResult}, {Type: llm.ToolCall, Call: "y"}}}
	if calls := m.Calls(); len(calls) != 2 || calls[0].Call != "x" || calls[1].Call != "y" {
		t.Errorf("got %+v, want x and y", calls)
	}
}

func TestLastText(t *testing.T) {
	req := llm.Request{Messages: []llm.Message{llm.UserText("a"), llm.UserText("b"), {Role: llm.Assistant}}}
	if got := req.LastText(); got != "b" {
		t.Errorf("got %q, want b", got)
	}
	if got := (llm.Request{}).LastText(); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}

func TestNamed(t *testing.T) {
	text := func(s string) llm.Part { return llm.Part{Type: llm.Text, Text: s} }
	picture := llm.Part{Type: llm.MediaPart, Media: &llm.Media{URL: "u"}}
	tests := map[string]struct {
		in   llm.Message
		want []llm.Part
	}{
		"nobody":  {llm.Message{Parts: []llm.Part{text("hi")}}, []llm.Part{text("hi")}},
		"text":    {llm.Message{Name: "Ana", Parts: []llm.Part{text("hi"), picture}}, []llm.Part{text("Ana: hi"), picture}},
		"picture": {llm.Message{Name: "Ana", Parts: []llm.Part{picture}}, []llm.Part{text("Ana: "), picture}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.in.Named().Parts); diff != "" {
				t.Error(diff)
			}
		})
	}
}
