// Package echo is the model that needs none: it answers what it was told. It
// tries out a host without a key, and measures one without a model's latency.
package echo

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"strings"

	"agenthost/llm"
)

const (
	shortText = 64 // below it a text is one delta
	mostParts = 16 // deltas of a longer one
)

// A Provider answers the text of the last user message, or, when it has none,
// names its attachments. It keeps nothing and is safe for concurrent use.
type Provider struct{}

// New is a Provider.
func New() *Provider { return &Provider{} }

// Stream answers req in one delta, or, when the text is long, in a few cut
// between words. It never waits and reports no usage; it ends early only with
// ctx.
func (p *Provider) Stream(ctx context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		text := said(req)
		size := max(len(text)/mostParts, shortText/4)
		for rest := text; ; {
			if ctx.Err() != nil {
				yield(llm.Delta{}, llm.Stopped(ctx))
				return
			}
			if rest == "" {
				break
			}
			n := len(rest)
			if len(text) >= shortText {
				n = cut(rest, size)
			}
			if !yield(llm.Delta{Text: rest[:n]}, nil) {
				return
			}
			rest = rest[n:]
		}
		yield(llm.Delta{Finish: llm.FinishStop}, nil)
	}
}

// said is what there is to repeat: an answer of nothing would be no answer.
func said(req llm.Request) string {
	text := req.LastText()
	if strings.TrimSpace(text) != "" {
		return text
	}
	for _, m := range slices.Backward(req.Messages) {
		if m.Role == llm.User {
			return cmp.Or(named(m.Media()), text)
		}
	}
	return text
}

// named is a line for each attachment.
func named(media []*llm.Media) string {
	lines := make([]string, len(media))
	for i, m := range media {
		kind := m.Kind
		if kind == "" && m.IsImage() {
			kind = "image"
		}
		lines[i] = "[" + strings.TrimSpace(cmp.Or(kind, "file")+" "+m.Name) + "]"
	}
	return strings.Join(lines, "\n")
}

// cut is where the first word that ends at or after size bytes ends, its space
// included.
func cut(s string, size int) int {
	if len(s) <= size {
		return len(s)
	}
	if i := strings.IndexByte(s[size:], ' '); i >= 0 {
		return size + i + 1
	}
	return len(s)
}
