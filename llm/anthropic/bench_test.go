package anthropic_test

import (
	"io"
	"strings"
	"testing"

	"agenthost/llm"
	"agenthost/llm/llmtest"
)

// BenchmarkStream reads an answer of a thousand chunks.
func BenchmarkStream(b *testing.B) {
	sent := events(start(`"input_tokens":3`), begin(0, textBlock)) + strings.Repeat(events(say("word ")), 1000) + events(done(0), stop("end_turn"), end)
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
	sent := answered("hi")
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
