package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A Builder puts the deltas of one stream together. The zero Builder is empty
// and ready to use; it is for one stream and one goroutine.
type Builder struct {
	// Provider is written on the reasoning parts and on what carries Meta, so
	// that they are only ever sent back to the provider that made them; empty: to
	// none. It may be set as late as before Message.
	Provider string

	parts  []partBuilder // in the order in which they began
	usage  Usage
	finish Finish
}

// A partBuilder is a part as far as it has come.
type partBuilder struct {
	kind  PartType
	text  []byte // what is said, or the arguments of a call
	meta  json.RawMessage
	media *Media

	index    int // tool_call
	id, name string
}

// Add appends a delta; of several usages the last one counts.
func (b *Builder) Add(d Delta) {
	if d.Restart {
		*b = Builder{Provider: b.Provider}
	}
	if d.Reasoning != "" || d.Meta != nil {
		p := b.last(Reasoning)
		p.text = append(p.text, d.Reasoning...)
		p.meta = d.Meta
	}
	if d.Text != "" {
		p := b.last(Text)
		p.text = append(p.text, d.Text...)
	}
	if d.Call != nil {
		b.addCall(*d.Call)
	}
	if d.Media != nil {
		b.parts = append(b.parts, partBuilder{kind: MediaPart, media: d.Media})
	}
	if d.Usage != nil {
		b.usage = *d.Usage
	}
	if d.Finish != "" {
		b.finish = d.Finish
	}
}

// last is the part that is being said, if it is of that kind, else a new one.
// Meta ends the reasoning that it belongs to.
func (b *Builder) last(kind PartType) *partBuilder {
	if n := len(b.parts); n > 0 && b.parts[n-1].kind == kind && b.parts[n-1].meta == nil {
		return &b.parts[n-1]
	}
	b.parts = append(b.parts, partBuilder{kind: kind})
	return &b.parts[len(b.parts)-1]
}

func (b *Builder) addCall(d CallDelta) {
	i := slices.IndexFunc(b.parts, func(p partBuilder) bool { return p.kind == ToolCall && p.index == d.Index })
	if i < 0 {
		i = len(b.parts)
		b.parts = append(b.parts, partBuilder{kind: ToolCall, index: d.Index})
	}
	c := &b.parts[i]
	c.id, c.name = cmp.Or(c.id, d.ID), cmp.Or(c.name, d.Name)
	if d.Meta != nil {
		c.meta = d.Meta
	}
	c.text = append(c.text, d.Args...)
}

// Usage is the last usage the stream reported; zero while it has not.
func (b *Builder) Usage() Usage { return b.usage }

// Finish is why the model stopped; empty while it has not.
func (b *Builder) Finish() Finish { return b.finish }

// Message is what has been said so far, calls ordered by their index; a message
// of a stream without a Finish is Partial, and its calls, which may be cut, are
// left out. A call whose arguments are not JSON, or were cut at the longest length,
// has no Args: its Text is what came, its Error is true.
func (b *Builder) Message() Message {
	m := Message{Role: Assistant, Partial: b.finish == ""}
	calls := b.calls()
	for i := range b.parts {
		p := &b.parts[i]
		if p.kind != ToolCall {
			m.Parts = append(m.Parts, b.part(p))
			continue
		}
		if m.Partial {
			continue
		}
		p, calls = calls[0], calls[1:]
		m.Parts = append(m.Parts, b.call(p, m.Parts))
	}
	return m
}

func (b *Builder) calls() []*partBuilder {
	var calls []*partBuilder
	for i := range b.parts {
		if p := &b.parts[i]; p.kind == ToolCall {
			calls = append(calls, p)
		}
	}
	slices.SortStableFunc(calls, func(x, y *partBuilder) int { return cmp.Compare(x.index, y.index) })
	return calls
}

func (b *Builder) part(p *partBuilder) Part {
	part := Part{Type: p.kind, Text: string(p.text), Media: p.media, Meta: p.meta}
	if p.kind == Reasoning {
		part.Provider = b.Provider
	}
	return part
}

// call is the part of a call that comes behind others.
func (b *Builder) call(c *partBuilder, others []Part) Part {
	p := Part{Type: ToolCall, Call: c.id, Name: c.name, Meta: c.meta}
	if c.meta != nil {
		p.Provider = b.Provider
	}
	// A result finds its call by the id, so two calls may not share one.
	sameID := func(q Part) bool { return q.Type == ToolCall && q.Call == p.Call }
	if p.Call == "" || slices.ContainsFunc(others, sameID) {
		p.Call = fmt.Sprintf("%s_%d", cmp.Or(p.Call, "call"), countCalls(others))
	}
	switch args := string(c.text); {
	case b.isCut(c):
		p.Text, p.Error = args, true
	case isNone(args):
		p.Args = json.RawMessage("{}")
	case json.Valid([]byte(args)):
		p.Args = json.RawMessage(args)
	default:
		p.Text, p.Error = args, true
	}
	return p
}

// isCut reports whether the model reached its longest length before the first of
// the arguments of c, which then look like those of a tool that takes none.
func (b *Builder) isCut(c *partBuilder) bool {
	args := string(c.text)
	isLast := c == &b.parts[len(b.parts)-1]
	return isLast && b.finish == FinishLength && (isNone(args) || args == "{}")
}

// isNone reports whether args are how some server calls a tool without arguments.
func isNone(args string) bool { return strings.TrimSpace(args) == "" || args == "null" }

func countCalls(parts []Part) int {
	n := 0
	for _, p := range parts {
		if p.Type == ToolCall {
			n++
		}
	}
	return n
}
