// Package stream publishes what a model says as it comes, and joins it again for those
// who follow.
package stream

import (
	"agenthost/bus"
	"agenthost/session"
)

// A Chunk is what is published on agent.stream.<agent>.<sid> while a model
// speaks: a piece of its text or of its reasoning, its end, or how far a tool
// is. Nothing is kept: the reply has the whole.
type Chunk struct {
	Run     string `json:"run"`
	Attempt int    `json:"attempt,omitempty"` // of the run, where a host before has tried it
	Turn    int    `json:"turn,omitempty"`    // the call of the model in the run, from 1
	// Offset counts the bytes before Text, or before Reasoning, of the same
	// kind and turn, so that a reader sees a gap and a repeat.
	Offset    int    `json:"offset"`
	Text      string `json:"text,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
	// Restart says that what came of the turn so far counts no more: the model
	// failed before its first text, and is asked again, or another one is.
	Restart bool `json:"restart,omitempty"`
	// End says that the turn says no more; Offset is the length of its text.
	End       string `json:"end,omitempty"`
	InReplyTo string `json:"in_reply_to,omitempty"` // as in the reply to come

	// A tool that takes long says how far it is.
	Call     string `json:"call,omitempty"`
	Tool     string `json:"tool,omitempty"`
	Progress string `json:"progress,omitempty"`
}

// How a turn ends: the model has said all, or will not say the rest.
const (
	EndDone = "done"
	EndCut  = "cut"
)

// Subject is where the answers of a session can be followed.
func Subject(agent string, key session.Key) string {
	return bus.StreamPrefix + agent + "." + session.SID(agent, key)
}
