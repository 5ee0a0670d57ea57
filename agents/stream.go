package agents

import (
	"strings"

	"agenthost/agents/internal/stream"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// A Chunk is a piece of an answer on agent.stream.<agent>.<sid>.
type Chunk = stream.Chunk

// A Joiner makes one text of the chunks of a stream.
type Joiner = stream.Joiner

// How a turn ends: the model has said all, or will not say the rest.
const (
	EndDone = stream.EndDone
	EndCut  = stream.EndCut
)

// StreamSubject is where the answers of a session can be followed.
func StreamSubject(agent string, key session.Key) string { return stream.Subject(agent, key) }

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
	out := t.speech.Load()
	if out == nil || out.Held {
		return nil
	}
	var said llm.Message
	t.journal.View(func(state run.State) {
		if state.Run != nil && state.Run.ID == t.id && turn(state.Run) == out.Head.Turn {
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
	return out.Chunks(text.String(), reasoning.String())
}

// newStream is for the call of the model that is to come.
func (t *runner) newStream() *stream.Writer {
	parts := t.c.r.parts
	head := Chunk{Run: t.id, InReplyTo: t.inputs[len(t.inputs)-1].ID}
	if r := t.journal.State().Run; r != nil {
		head.Attempt, head.Turn = r.Attempt, turn(r)
	}
	out := stream.NewWriter(stream.Options{
		Agent: t.c.r.id, Key: t.c.key, Head: head, Held: t.p.cfg.HoldStream, NC: parts.NC, Log: &parts.Log,
		Most: parts.room() / 8, // every byte may become six
	})
	t.speech.Store(out)
	return out
}

// turn is the number of the call of the model under way.
func turn(r *run.Run) int { return r.ModelCalls + 1 }
