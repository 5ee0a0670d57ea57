package gemini

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"

	"agenthost/llm"
	"agenthost/llm/httpapi"
)

// An answer turns one response body into deltas.
type answer struct {
	*httpapi.Answer

	calls   int
	counted llm.Usage  // as far as it was given
	usage   *llm.Usage // to be given with the next delta
}

// Whole reads one JSON value, or a list of them, as they come from a server that
// does not know of alt=sse.
func (a *answer) Whole(first byte, r io.Reader) error {
	d := json.NewDecoder(r)
	if first == '[' {
		_, _ = d.Token()
	}
	for d.More() {
		var c chunk
		if err := d.Decode(&c); err != nil {
			return llm.Unavailable(fmt.Errorf("read answer: %w", err))
		}
		if c.isEmpty() {
			return llm.Unavailable(errNoAnswer)
		}
		if err := a.add(&c); err != nil {
			return err
		}
	}
	return nil
}

// Event takes one event; [DONE] is the last, which only proxies send.
func (a *answer) Event(e httpapi.Event) (done bool, err error) {
	data := bytes.TrimSpace(e.Data)
	if string(data) == "[DONE]" {
		return true, nil
	}
	if len(data) == 0 {
		return false, nil
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil {
		return false, llm.Unavailable(fmt.Errorf("read chunk: %w", err))
	}
	return false, a.add(&c)
}

func (a *answer) add(c *chunk) error {
	if c.Error != nil {
		return c.Error.streamed()
	}
	says := len(c.Candidates) > 0 && len(c.Candidates[0].Content.Parts) > 0
	if err := a.Continues(string(c.ID), says); err != nil {
		return err
	}
	a.count(c.Usage)
	if len(c.Candidates) > 0 { // only one is asked for
		for i := range c.Candidates[0].Content.Parts {
			if err := a.part(&c.Candidates[0].Content.Parts[i]); err != nil {
				return err
			}
		}
	}
	if a.usage != nil {
		if err := a.give(llm.Delta{}); err != nil {
			return err
		}
	}
	return a.finished(c)
}

// count keeps the usage for the next delta, when it is news: every chunk has it.
func (a *answer) count(u *wireUsage) {
	if u == nil {
		return
	}
	if now := u.usage(); now != a.counted {
		a.counted, a.usage = now, &now
	}
}

func (a *answer) give(d llm.Delta) error {
	d.Usage, a.usage = a.usage, nil
	return a.Give(d)
}

func (a *answer) part(p *part) error {
	m := meta{Signature: p.Signature}
	var d llm.Delta
	switch {
	case p.Call != nil:
		return a.give(llm.Delta{Call: a.call(p.Call, m)})
	case p.Thought: // what else than text a model thinks is not for the reader
		m.On = onThought
		d.Reasoning = deref(p.Text)
	case p.Inline != nil:
		m.On = onMedia
		d.Media = made(p.Inline)
	case deref(p.Text) != "":
		m.On = onText
		d.Text = *p.Text
	}
	if d.Reasoning != "" || d.Media != nil || d.Text != "" {
		if err := a.give(d); err != nil {
			return err
		}
	}
	if p.Signature == "" {
		return nil
	}
	return a.give(llm.Delta{Meta: m.encode()})
}

// call is a whole one: the API does not send them in pieces. One that came
// without an id gets one that the API is never told.
func (a *answer) call(c *call, m meta) *llm.CallDelta {
	m.ID = string(c.ID)
	d := llm.CallDelta{
		Index: a.calls,
		ID:    m.ID,
		Name:  a.Names.FromWire(c.Name),
		Args:  string(c.Args),
		Meta:  m.encode(),
	}
	if d.ID == "" {
		d.ID = "call_" + rand.Text()
	}
	a.calls++
	return &d
}

// Last is empty: everything was given.
func (a *answer) Last() llm.Delta { return llm.Delta{} }

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
