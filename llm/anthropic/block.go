package anthropic

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"

	"agenthost/llm"
)

// An openBlock is a block of an answer of which more may come. Those of unknown
// types are kept too, so that what belongs to them goes nowhere else.
type openBlock struct {
	kind   string
	index  int
	closed bool

	signature strings.Builder // thinking
	redacted  string

	call   int             // tool_use: its place among the calls
	input  json.RawMessage // what it began with
	pieces bool            // its arguments come in pieces instead
}

// blockSize is about what an openBlock takes.
const blockSize = 128

// block is the last that began at index, nil when none did.
func (a *answer) block(index int) *openBlock {
	for _, b := range slices.Backward(a.blocks) {
		if b.index == index {
			return b
		}
	}
	return nil
}

// begin opens a block, which may have all of its content at once. Thinking that
// the server left open ends here; several calls may be open.
func (a *answer) begin(index int, w wireBlock) error {
	if n := len(a.blocks); n > 0 && a.blocks[n-1].kind != "tool_use" {
		if err := a.close(a.blocks[n-1]); err != nil {
			return err
		}
	}
	if err := a.Keep(blockSize + len(w.Signature) + len(w.Data) + len(w.Input)); err != nil {
		return err
	}
	b := &openBlock{kind: w.Type, index: index}
	a.blocks = append(a.blocks, b)
	switch {
	case w.Type == "text" && w.Text != "":
		return a.Give(llm.Delta{Text: w.Text})
	case w.Type == "thinking":
		b.signature.WriteString(w.Signature)
		if w.Thinking != "" {
			return a.Give(llm.Delta{Reasoning: w.Thinking})
		}
	case w.Type == "redacted_thinking":
		b.redacted = w.Data
	case w.Type == "tool_use":
		b.call, b.input = a.calls, w.Input
		a.calls++
		id := cmp.Or(string(w.ID), "toolu_"+rand.Text())
		return a.Give(llm.Delta{Call: &llm.CallDelta{Index: b.call, ID: id, Name: a.Names.FromWire(w.Name)}})
	}
	return nil
}

// more gives what is new in the block at index.
func (a *answer) more(index int, d *wireDelta) error {
	switch {
	case d.Text != "":
		return a.Give(llm.Delta{Text: d.Text})
	case d.Thinking != "":
		return a.Give(llm.Delta{Reasoning: d.Thinking})
	}
	b := a.block(index)
	switch {
	case b == nil:
	case d.Signature != "":
		b.signature.WriteString(d.Signature)
		return a.Keep(len(d.Signature))
	case d.Input != "" && b.kind == "tool_use":
		b.pieces = true
		return a.Give(llm.Delta{Call: &llm.CallDelta{Index: b.call, Args: d.Input}})
	}
	return nil
}

// close gives what a block has only as a whole.
func (a *answer) close(b *openBlock) error {
	if b == nil || b.closed {
		return nil
	}
	b.closed = true
	switch {
	case b.kind == "tool_use" && !b.pieces && len(b.input) > 0:
		return a.Give(llm.Delta{Call: &llm.CallDelta{Index: b.call, Args: string(b.input)}})
	case b.signature.Len() > 0 || b.redacted != "":
		meta, err := json.Marshal(seal{Signature: b.signature.String(), Redacted: b.redacted})
		if err != nil {
			return llm.Unavailable(err)
		}
		return a.Give(llm.Delta{Meta: meta})
	}
	return nil
}
