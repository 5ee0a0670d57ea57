package echo_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/echo"
	"agenthost/llm/llmtest"
)

func TestSuite(t *testing.T) {
	llmtest.Run(t, llmtest.Suite{
		Answers: func(testing.TB) llm.Provider { return echo.New() },
		Text:    "hello",
	})
}

func TestDeltas(t *testing.T) {
	tests := map[string]struct {
		text string
		want int
	}{
		"empty":             {"", 0},
		"short":             {strings.Repeat("a ", 31), 1},
		"long":              {strings.Repeat("word ", 20), 5},
		"very long":         {strings.Repeat("word ", 20_000), 16},
		"long without word": {strings.Repeat("é", 100), 1},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := llmtest.Read(echo.New().Stream(t.Context(), request(tt.text)))
			if a.Err != nil || a.Fault != nil || a.Message.Text() != tt.text {
				t.Errorf("got %q, %v, %v", a.Message.Text(), a.Err, a.Fault)
			}
			if got := len(a.Deltas) - 1; got != tt.want {
				t.Errorf("got %d deltas of text, want %d", got, tt.want)
			}
		})
	}
}

func TestLastUserMessage(t *testing.T) {
	req := llm.Request{Messages: []llm.Message{
		llm.UserText("one"), llm.UserText("two"),
		{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: "three"}}},
	}}
	if got := llmtest.Read(echo.New().Stream(t.Context(), req)).Message.Text(); got != "two" {
		t.Errorf("got %q, want %q", got, "two")
	}
}

func TestAttachments(t *testing.T) {
	media := func(m llm.Media) llm.Part { return llm.Part{Type: llm.MediaPart, Media: &m} }
	words := func(s string) llm.Part { return llm.Part{Type: llm.Text, Text: s} }
	picture := media(llm.Media{Kind: "image", Name: "a.png"})
	tests := map[string]struct {
		parts []llm.Part
		want  string
	}{
		"named":           {[]llm.Part{picture}, "[image a.png]"},
		"blank text":      {[]llm.Part{words(" "), picture}, "[image a.png]"},
		"nameless":        {[]llm.Part{media(llm.Media{Kind: "audio", URL: "u"})}, "[audio]"},
		"of no kind":      {[]llm.Part{media(llm.Media{URL: "u"})}, "[file]"},
		"kind by type":    {[]llm.Part{media(llm.Media{MIME: "image/png"})}, "[image]"},
		"several":         {[]llm.Part{picture, media(llm.Media{Kind: "file", Name: "b.pdf"})}, "[image a.png]\n[file b.pdf]"},
		"text goes first": {[]llm.Part{words("look"), picture}, "look"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			req := llm.Request{Messages: []llm.Message{{Role: llm.User, Parts: tt.parts}}}
			a := llmtest.Read(echo.New().Stream(t.Context(), req))
			if a.Err != nil || a.Fault != nil || a.Message.Text() != tt.want {
				t.Errorf("got %q, %v, %v, want %q", a.Message.Text(), a.Err, a.Fault, tt.want)
			}
		})
	}
}

func TestFewAllocations(t *testing.T) {
	p, req := echo.New(), request("hello")
	got := testing.AllocsPerRun(100, func() {
		for range p.Stream(t.Context(), req) {
		}
	})
	if got > 2 {
		t.Errorf("got %v allocations per answer, want 2 at most", got)
	}
}

func request(text string) llm.Request {
	return llm.Request{Messages: []llm.Message{llm.UserText(text)}}
}

func Example() {
	req := llm.Request{Messages: []llm.Message{llm.UserText("Hello!")}}
	for d, err := range echo.New().Stream(context.Background(), req) {
		fmt.Println(d.Text, d.Finish, err)
	}
	// Output:
	// Hello!  <nil>
	//  stop <nil>
}
