package gemini_test

import (
	"io"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

// BenchmarkStream reads an answer of a thousand chunks, each with its usage.
func BenchmarkStream(b *testing.B) {
	chunk := `{"candidates":[{"content":{"parts":[{"text":"word "}],"role":"model"},"index":0}],` +
		`"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":5,"totalTokenCount":17},"modelVersion":"gemini-2.5-flash"}`
	sent := strings.Repeat(events(chunk), 1000) + events(finish("STOP"))
	p := provider(b, llm.Config{}, body(func() io.Reader { return strings.NewReader(sent) }))
	b.ReportAllocs()
	b.SetBytes(int64(len(sent)))
	for b.Loop() {
		for _, err := range p.Stream(b.Context(), llmtest.Request()) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkRequest asks after a thousand turns.
func BenchmarkRequest(b *testing.B) {
	sent := events(say("hi"), finish("STOP"))
	p := provider(b, llm.Config{}, body(func() io.Reader { return strings.NewReader(sent) }))
	req := llmtest.Request()
	for range 1000 {
		req.Messages = append(req.Messages, llm.UserText("What is new in the shop today?"), llm.Message{
			Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: "A lamp, two \"chairs\" and a table: see https://shop.example/?new=1&page=2"}},
		})
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range p.Stream(b.Context(), req) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}
