package modelcall

import (
	"strings"

	"agenthost/agents"
	"agenthost/agents/internal/stream"
	"agenthost/llm"
	"agenthost/run"
)

// NewStream is for the call of the model that is to come.
func (t *Caller) NewStream() *stream.Writer {
	parts := t.Agent.Parts
	head := agents.Chunk{Run: t.ID, InReplyTo: t.Inputs[len(t.Inputs)-1].OwnID()}
	if r := t.Journal.State().Run; r != nil {
		head.Attempt, head.Turn = r.Attempt, turn(r)
	}
	out := stream.NewWriter(stream.Options{
		Agent: t.Agent.ID, Key: t.Key, Head: head, Held: t.Profile.Config.HoldStream, NC: parts.NC, Log: &parts.Log,
		Most: parts.Room() / 8, // every byte may become six
	})
	t.speech.Store(out)
	return out
}

// turn is the number of the call of the model under way.
func turn(r *run.Run) int { return r.ModelCalls + 1 }

// Speaking is what the model has said so far in the call under way, as chunks; nil when it
// says nothing, or shows nothing before the reply.
func (t *Caller) Speaking() []agents.Chunk {
	out := t.speech.Load()
	if out == nil || out.Held {
		return nil
	}
	var said llm.Message
	t.Journal.View(func(state run.State) {
		if state.Run != nil && state.Run.ID == t.ID && turn(state.Run) == out.Head.Turn {
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
