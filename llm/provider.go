// Package llm speaks to language models: the messages, the Provider that
// streams an answer, and the errors a provider can end with. The folders
// below it are one provider each.
package llm

import (
	"context"
	"encoding/json"
	"iter"
	"slices"
)

// A Provider streams the answer of a model. The sequence ends after a Delta
// with Finish set, or with the error that broke it; an error is always the
// last element and is an *Error when the provider could tell what went wrong.
// Breaking out of the loop, or ending ctx, closes the stream at once.
type Provider interface {
	Stream(ctx context.Context, req Request) iter.Seq2[Delta, error]
}

// A Request is one call of a model.
type Request struct {
	Model    string    `json:"model"`
	System   string    `json:"system,omitempty"`
	Messages []Message `json:"messages"`
	Tools    []ToolDef `json:"tools,omitempty"`
	// Schema is the JSON Schema of the answer, a hint for providers that can
	// keep to one; empty: any text.
	Schema json.RawMessage `json:"schema,omitempty"`

	// Session is whose turn it is where calls have to wait; no provider sends it.
	Session string `json:"-"`

	// TraceParent and TraceState are the trace context that the call belongs to;
	// providers that speak HTTP pass it on as headers.
	TraceParent string `json:"-"`
	TraceState  string `json:"-"`

	// Silence says that an answer without text and calls is a good one.
	Silence bool `json:"-"`

	// Contents is what Messages hold, where who made the request knows it. The
	// zero Contents says that it does not: then they are looked through. Code that
	// replaces Messages clears it.
	Contents Contents `json:"-"`
}

// BodySize is about how many bytes a provider writes for r.
func (r *Request) BodySize() int {
	n := 1024 + len(r.System) + len(r.Schema)
	for i := range r.Tools {
		n += 128 + len(r.Tools[i].Description) + len(r.Tools[i].Schema)
	}
	for i := range r.Messages {
		n += 64
		for k := range r.Messages[i].Parts {
			n += len(r.Messages[i].Parts[k].Text)
		}
	}
	return n
}

// LastText is the text of the last user message; empty when there is none.
func (r Request) LastText() string {
	for _, m := range slices.Backward(r.Messages) {
		if m.Role == User {
			return m.Text()
		}
	}
	return ""
}

// A ToolDef describes a tool to a model; Schema is its JSON Schema.
type ToolDef struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// A Delta is one step of a stream. Text and Reasoning append; a tool call
// comes in as many deltas as the provider likes, told apart by Index.
type Delta struct {
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// Meta ends the reasoning so far, which may be none: what the provider
	// wants back with it, as a signature.
	Meta   json.RawMessage `json:"meta,omitempty"`
	Call   *CallDelta      `json:"call,omitempty"`
	Media  *Media          `json:"media,omitempty"`  // something the model made, whole, in Data or at a URL
	Usage  *Usage          `json:"usage,omitempty"`  // replaces what came before
	Finish Finish          `json:"finish,omitempty"` // set on the last delta only

	// Restart says that what came before this delta counts no more: the call
	// failed before anything of it could be seen, and this one is of another. Only
	// a Chain sets it.
	Restart bool `json:"restart,omitempty"`
}

// A CallDelta is a piece of a tool call. Index tells the calls of one answer
// apart and orders them; ID and Name come once, Args append.
type CallDelta struct {
	Index int    `json:"index"`
	ID    string `json:"id,omitempty"`
	Name  string `json:"name,omitempty"`
	Args  string `json:"args,omitempty"`
	// Meta is what the provider wants back with the call.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// Finish says why a model stopped.
type Finish string

// The reasons to stop.
const (
	FinishStop          Finish = "stop"
	FinishLength        Finish = "length"
	FinishToolCalls     Finish = "tool_calls"
	FinishContentFilter Finish = "content_filter"
)

// Usage counts tokens of one call. Input is all that was sent, the tokens read
// from and written to a cache included; Output is all that came back, the
// reasoning included.
type Usage struct {
	Input      int64 `json:"input,omitempty"`
	CacheRead  int64 `json:"cache_read,omitempty"`
	CacheWrite int64 `json:"cache_write,omitempty"`
	Output     int64 `json:"output,omitempty"`
	Reasoning  int64 `json:"reasoning,omitempty"`
}

// mostTokens is far beyond what any model reads or says in one call.
const mostTokens = 1_000_000_000

// possible is false for what no model can have counted, such as a negative
// number. Nothing goes by that: it counts as not reported.
func (u *Usage) possible() bool {
	counts := []int64{u.Input, u.CacheRead, u.CacheWrite, u.Output, u.Reasoning}
	return slices.Min(counts) >= 0 && slices.Max(counts) <= mostTokens
}
