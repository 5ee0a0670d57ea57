package a2a

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"agenthost/doors"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
)

const (
	idBytes   = 10 // of a hash in an id
	replyID   = proto.ArtifactID("reply")
	replyName = "reply"
)

// taskID names the task that a message begins. It says where the task is, so that it is
// found after a restart.
func taskID(context, message string) proto.TaskID {
	return proto.TaskID(context + "." + hash(message))
}

// contextOf is the context of a task; empty where it can be no task.
func contextOf(id proto.TaskID) string {
	i := strings.LastIndexByte(string(id), '.')
	if i < 0 || len(id)-i-1 != 2*idBytes {
		return ""
	}
	return string(id[:i])
}

// newContext is the context of a message that names none: that of the same message
// again is the same.
func newContext(message string) string { return hash("context of " + message) }

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:idBytes])
}

// place is the session of a context.
func (h *handler) place(context string) doors.Place {
	return doors.Place{Agent: h.agent.ID, Instance: h.visit.Instance, Conversation: context}
}

// limited is a copy of a task with so many of the last messages; nil: all.
func limited(t *proto.Task, history *int) *proto.Task {
	short := *t
	if history != nil && *history < len(short.History) {
		short.History = short.History[len(short.History)-max(0, *history):]
	}
	return &short
}
