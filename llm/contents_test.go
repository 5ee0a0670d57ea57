package llm_test

import (
	"context"
	"encoding/json"
	"iter"
	"math/rand/v2"
	"testing"

	"agenthost/llm"

	"github.com/google/go-cmp/cmp"
)

// randomMessages have parts of all kinds that Contents tells apart; in small
// ones it is likely that they have none of some.
func randomMessages(r *rand.Rand) []llm.Message {
	owners := []string{"", "one", "two"}[r.IntN(2):][:1+r.IntN(2)]
	messages := make([]llm.Message, r.IntN(6))
	for i := range messages {
		for range r.IntN(4) {
			p := llm.Part{Type: llm.Text, Text: "hello"}
			switch r.IntN(8) {
			case 0:
				p.Type, p.Provider = llm.Reasoning, owners[r.IntN(len(owners))]
			case 1:
				p.Type, p.Provider, p.Meta = llm.ToolCall, owners[r.IntN(len(owners))], json.RawMessage(`"s"`)
			case 2:
				p.Type, p.Media = llm.MediaPart, &llm.Media{Object: []string{"", "o"}[r.IntN(2)], URL: []string{"https://h/u", "u"}[r.IntN(2)]}
			}
			messages[i].Parts = append(messages[i].Parts, p)
		}
	}
	return messages
}

// What is known of messages is what they tell, and so is what a provider is sent.
func TestContents(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		req := llm.Request{Messages: randomMessages(r)}
		c := req.Look()
		owners, stored := map[string]bool{}, false
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				stored = stored || p.Media != nil && (p.Media.Object != "" || p.Media.URL == "u")
				if p.Type == llm.Reasoning || p.Provider != "" || p.Meta != nil {
					owners[p.Provider] = true
				}
			}
		}
		if c.Messages != len(req.Messages) || c.Stored != stored || c.Owned != (len(owners) > 0) || c.Mixed != (len(owners) > 1) ||
			c.Owned && !owners[c.Owner] {
			t.Fatalf("got %+v of %+v", c, req.Messages)
		}
		known := req
		known.Contents = c
		for _, provider := range []string{"one", "two", "three", ""} {
			if diff := cmp.Diff(sentTo(t, provider, req), sentTo(t, provider, known)); diff != "" {
				t.Fatalf("%q is sent something else by who knows the contents %+v:\n%s", provider, c, diff)
			}
			for _, m := range sentTo(t, provider, known) {
				for _, p := range m.Parts {
					if p.Type == llm.Reasoning && (p.Provider != provider || provider == "") || p.Meta != nil && p.Provider != provider {
						t.Fatalf("%q is sent %+v", provider, p)
					}
				}
			}
		}
	}
}

func sentTo(t *testing.T, provider string, req llm.Request) []llm.Message {
	t.Helper()
	asked := &recorder{}
	chain := &llm.Chain{Links: []llm.Link{{Name: provider, Provider: asked}}}
	for _, err := range chain.Stream(t.Context(), req, func(llm.Attempt) {}) {
		if err != nil {
			t.Fatal(err)
		}
	}
	return asked.req.Messages
}

type recorder struct {
	instant
	req llm.Request
}

func (r *recorder) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	r.req = req
	return r.instant.Stream(ctx, req)
}

// Contents of other messages than those of the request are nobody's word.
func TestContentsOfOtherMessages(t *testing.T) {
	req := llm.Request{Messages: []llm.Message{llm.UserText("hello")}}
	req.Contents = req.Look()
	req.Messages = append(req.Messages, llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Reasoning, Provider: "one"}}})
	if got := sentTo(t, "two", req); len(got) != 1 {
		t.Errorf("got %+v, want the reasoning of another left out", got)
	}
}

// BenchmarkLong is a call in a session of a thousand messages that nothing is
// to be taken out of.
func BenchmarkLong(b *testing.B) {
	var messages []llm.Message
	for range 500 {
		messages = append(messages, llm.UserText("hello"), llm.Message{Role: llm.Assistant, Parts: []llm.Part{
			{Type: llm.Reasoning, Text: "hm", Provider: "one"}, {Type: llm.Text, Text: "hello"},
		}})
	}
	chain := &llm.Chain{Links: []llm.Link{{Name: "one", Provider: instant{}, Gate: llm.NewGate("main", llm.Rate{})}}}
	req := llm.Request{Messages: messages}
	known := req
	known.Contents = known.Look()
	for name, req := range map[string]llm.Request{"known": known, "unknown": req} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				for range chain.Stream(b.Context(), req, func(llm.Attempt) {}) {
				}
			}
		})
	}
}
