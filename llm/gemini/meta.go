package gemini

import (
	"encoding/json"

	"agenthost/llm"
)

// A meta is what we keep with a part for the day it is sent back. That of a
// call is the call's own. The signature of any other part follows the part, as
// a reasoning part which may be empty, and On says where it belongs.
type meta struct {
	ID        string `json:"id,omitempty"` // of a call, when the API gave it one
	Signature string `json:"thoughtSignature,omitempty"`
	On        string `json:"on,omitempty"`
}

// What a signature came on; on nothing means a part that was empty, as at the
// end of many a stream.
const (
	onText    = "text"
	onThought = "thought"
	onMedia   = "media"
)

func (m meta) encode() json.RawMessage {
	if m == (meta{}) {
		return nil
	}
	data, _ := json.Marshal(m) // strings only: cannot fail
	return data
}

// metaOf is zero when there is none that is ours.
func metaOf(p *llm.Part) meta {
	var m meta
	if p.Meta == nil || json.Unmarshal(p.Meta, &m) != nil {
		return meta{}
	}
	return m
}

// sign puts a signature where it came from. One whose media we cannot send is
// left out with it.
func sign(parts []part, m meta) []part {
	if m.Signature == "" {
		return parts
	}
	if n := len(parts) - 1; n >= 0 && parts[n].Signature == "" && parts[n].is(m.On) {
		parts[n].Signature = m.Signature
		return parts
	}
	if m.On == onMedia {
		return parts
	}
	return append(parts, part{Text: new(""), Thought: m.On == onThought, Signature: m.Signature})
}

func (p part) is(on string) bool {
	switch on {
	case onText:
		return p.Text != nil && !p.Thought
	case onMedia:
		return p.Inline != nil || p.File != nil
	}
	return false
}
