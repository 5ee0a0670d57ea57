package agents

import (
	"strings"

	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// Speaking is what the model of a session has said so far in the call under
// way, as chunks that each fit into a message; nil when it says nothing here.
// What a reader of the stream has missed is in it. Of an agent that holds its
// stream nothing is shown before the reply.
func (f *Fleet) Speaking(agent string, key session.Key) []Chunk {
	r := f.Runtime(agent)
	if r == nil {
		return nil
	}
	entry, ok := r.sessions.Get(key)
	if !ok {
		return nil
	}
	return entry.Value.speaking()
}

func (c *conversation) speaking() []Chunk {
	c.mu.Lock()
	t := c.current
	c.mu.Unlock()
	if t == nil {
		return nil
	}
	s := t.speech.Load()
	if s == nil || s.holds {
		return nil
	}
	var said llm.Message
	t.journal.View(func(state run.State) {
		if state.Run != nil && state.Run.ID == t.id && turn(state.Run) == s.head.Turn {
			said = state.Partial()
		}
	})
	text, reasoning := strings.Builder{}, strings.Builder{}
	for _, p := range said.Parts {
		switch p.Type {
		case llm.Text:
			text.WriteString(p.Text)
		case llm.Reasoning:
			reasoning.WriteString(p.Text)
		}
	}
	var list []Chunk
	add := func(c Chunk) { list = append(list, c) }
	s.each(reasoning.String(), 0, true, add)
	s.each(text.String(), 0, false, add)
	return list
}
