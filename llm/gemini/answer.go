package gemini

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"time"

	"agenthost/llm"
)

// afterFinish is how long we wait for what a server may still have to say, each
// time: some say in every chunk that they have finished.
const afterFinish = 2 * time.Second

// An answer turns one response body into deltas.
type answer struct {
	body  *llm.Body
	yield func(llm.Delta, error) bool
	names *llm.ToolNames

	generations llm.Generations

	calls   int
	counted llm.Usage  // as far as it was given
	usage   *llm.Usage // to be given with the next delta
	finish  llm.Finish
}

// read gives all deltas. A server that does not know of alt=sse is told by its
// first byte, as content types lie.
func (a *answer) read() error {
	first, err := a.body.First()
	if err != nil {
		return err
	}
	switch first {
	case '{', '[':
		err = a.plain(first == '[')
	case '<':
		err = llm.Unavailable(errNoAnswer)
	default:
		err = a.events()
	}
	if err != nil {
		return err
	}
	a.body.Drain()
	return a.end()
}

// plain reads one JSON value, or a list of them, as they come.
func (a *answer) plain(list bool) error {
	d := json.NewDecoder(a.body)
	if list {
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

// events reads until [DONE], which only proxies send, or until the body ends
// one way or the other after a finish.
func (a *answer) events() error {
	for e, err := range a.body.Events() {
		if err != nil {
			return err
		}
		data := bytes.TrimSpace(e.Data)
		if string(data) == "[DONE]" {
			return nil
		}
		if len(data) == 0 {
			continue
		}
		var c chunk
		if err := json.Unmarshal(data, &c); err != nil {
			return llm.Unavailable(fmt.Errorf("read chunk: %w", err))
		}
		if err := a.add(&c); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) add(c *chunk) error {
	if c.Error != nil {
		return c.Error.streamed()
	}
	says := len(c.Candidates) > 0 && len(c.Candidates[0].Content.Parts) > 0
	if a.generations.Another(string(c.ID), says, a.finish != "") {
		return llm.Unavailable(llm.ErrTwoGenerations)
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
	if !a.yield(d, nil) {
		return llm.ErrLeft
	}
	return nil
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
	m.ID = c.ID
	d := llm.CallDelta{
		Index: a.calls,
		ID:    c.ID,
		Name:  a.names.FromWire(c.Name),
		Args:  string(c.Args),
		Meta:  m.encode(),
	}
	if d.ID == "" {
		d.ID = "call_" + rand.Text()
	}
	a.calls++
	return &d
}

// end gives the last delta.
func (a *answer) end() error {
	switch a.finish {
	case "":
		return llm.Unavailable(llm.ErrCut)
	case llm.FinishStop:
		if a.calls > 0 {
			a.finish = llm.FinishToolCalls
		}
	}
	a.yield(llm.Delta{Finish: a.finish}, nil)
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
