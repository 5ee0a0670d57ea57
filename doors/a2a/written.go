package a2a

import (
	"strings"

	"agenthost/client"

	proto "github.com/a2aproject/a2a-go/v2/a2a"
)

// written is what a client has of the reply so far. What a model says before it calls
// tools, or takes back, is replaced by what follows.
type written struct {
	run  string
	turn int
	text string
}

// add is what is new by a chunk.
func (w *written) add(at proto.TaskInfo, c client.Chunk) *proto.TaskArtifactUpdateEvent {
	if c.Run != w.run || c.Turn != w.turn || c.Restart {
		*w = written{run: c.Run, turn: c.Turn}
	}
	ev := update(at, w.text != "", proto.NewTextPart(c.Text))
	w.text += c.Text
	return ev
}

// end is what of the whole reply the client has not yet.
func (w *written) end(at proto.TaskInfo, text string, whole *proto.Artifact) *proto.TaskArtifactUpdateEvent {
	rest, ok := strings.CutPrefix(text, w.text)
	ev := update(at, false, whole.Parts...)
	if ok && w.text != "" && text != "" {
		ev = update(at, true, append(proto.ContentParts{proto.NewTextPart(rest)}, whole.Parts[1:]...)...)
	}
	ev.LastChunk = true
	return ev
}

func update(at proto.TaskInfo, more bool, parts ...*proto.Part) *proto.TaskArtifactUpdateEvent {
	return &proto.TaskArtifactUpdateEvent{
		TaskID: at.TaskID, ContextID: at.ContextID, Append: more,
		Artifact: &proto.Artifact{ID: replyID, Name: replyName, Parts: parts},
	}
}
