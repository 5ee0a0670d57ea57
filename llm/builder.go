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
	// Provider is written on the reasoning parts, so that only the one who
	// thought them is ever sent them back; empty: nobody is. It may be set
	// as late as before Message.
	Provider string

	text, reasoning strings.Builder
	calls           []*callBuilder
	usage           Usage
	finish          Finish
}

type callBuilder struct {
	index    int
	id, name string
	args     strings.Builder
}

// Add appends a delta; of several usages the last one counts.
func (b *Builder) Add(d Delta) {
	b.text.WriteString(d.Text)
	b.reasoning.WriteString(d.Reasoning)
	if d.Call != nil {
		b.addCall(*d.Call)
	}
	if d.Usage != nil {
		b.usage = *d.Usage
	}
	if d.Finish != "" {
		b.finish = d.Finish
	}
}

func (b *Builder) addCall(d CallDelta) {
	i := slices.IndexFunc(b.calls, func(c *callBuilder) bool { return c.index == d.Index })
	if i < 0 {
		i = len(b.calls)
		b.calls = append(b.calls, &callBuilder{index: d.Index})
	}
	c := b.calls[i]
	if c.id == "" {
		c.id = d.ID
	}
	if c.name == "" {
		c.name = d.Name
	}
	c.args.WriteString(d.Args)
}

// Usage is the last usage the stream reported; zero while it has not.
func (b *Builder) Usage() Usage { return b.usage }

// Finish is why the model stopped; empty while it has not.
func (b *Builder) Finish() Finish { return b.finish }

// Message is what has been said so far; a message of a stream without a Finish
// is Partial, and its calls, which may be cut, are left out. A call whose
// arguments are not JSON has no Args: its Text is what came, its Error is true.
func (b *Builder) Message() Message {
	m := Message{Role: Assistant, Partial: b.finish == ""}
	if b.reasoning.Len() > 0 {
		m.Parts = append(m.Parts, Part{Type: Reasoning, Text: b.reasoning.String(), Provider: b.Provider})
	}
	if b.text.Len() > 0 {
		m.Parts = append(m.Parts, Part{Type: Text, Text: b.text.String()})
	}
	if m.Partial {
		return m
	}
	return b.withCalls(m)
}

func (b *Builder) withCalls(m Message) Message {
	slices.SortStableFunc(b.calls, func(x, y *callBuilder) int { return cmp.Compare(x.index, y.index) })
	for i, c := range b.calls {
		p := c.part()
		sameID := func(q Part) bool { return q.Type == ToolCall && q.Call == p.Call }
		// A result finds its call by the id, so two calls may not share one.
		if p.Call == "" || slices.ContainsFunc(m.Parts, sameID) {
			p.Call = fmt.Sprintf("%s_%d", cmp.Or(p.Call, "call"), i)
		}
		m.Parts = append(m.Parts, p)
	}
	return m
}

func (c *callBuilder) part() Part {
	p := Part{Type: ToolCall, Call: c.id, Name: c.name}
	switch args := c.args.String(); {
	case strings.TrimSpace(args) == "", args == "null": // how some servers call a tool without arguments
		p.Args = json.RawMessage("{}")
	case json.Valid([]byte(args)):
		p.Args = json.RawMessage(args)
	default:
		p.Text, p.Error = args, true
	}
	return p
}
