package agents

import (
	"encoding/json"

	"agenthost/bus"
	"agenthost/llm"
	"agenthost/session"
)

// A Chunk is what is published on agent.stream.<agent>.<sid> while a model
// speaks. Offset counts the bytes of the answer before Text, so that a reader
// sees a gap. Nothing is kept: the reply has the whole.
type Chunk struct {
	Run    string `json:"run"`
	Offset int    `json:"offset"`
	Text   string `json:"text,omitempty"`

	// A tool that takes long says how far it is.
	Call     string `json:"call,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Progress string `json:"progress,omitempty"`
}

// stream publishes one answer as it comes. An answer of a single piece is not
// streamed: its reply follows at once.
type stream struct {
	t       *runner
	subject string
	first   string
	pieces  int
	offset  int
}

func (t *runner) newStream() *stream { return &stream{t: t} }

func (s *stream) add(d llm.Delta) {
	if d.Text == "" {
		return
	}
	s.pieces++
	switch s.pieces {
	case 1:
		s.first = d.Text
		return
	case 2:
		s.subject = StreamSubject(s.t.c.r.cfg.ID, s.t.c.key)
		s.publish(s.first)
	}
	s.publish(d.Text)
}

func (s *stream) publish(text string) {
	data, err := json.Marshal(Chunk{Run: s.t.id, Offset: s.offset, Text: text})
	s.offset += len(text)
	if err == nil {
		err = s.t.c.r.parts.NC.Publish(s.subject, data)
	}
	if err != nil {
		s.t.c.log().Debug().Err(err).Msg("publish delta")
	}
}

// StreamSubject is where the answers of a session can be followed.
func StreamSubject(agent string, key session.Key) string {
	return bus.StreamPrefix + agent + "." + session.SID(agent, key)
}
