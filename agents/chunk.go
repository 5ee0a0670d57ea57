package agents

import (
	"agenthost/agents/internal/stream"
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
