package control

import (
	"context"

	"agenthost/client"
)

// A NoteListing is what agents remember, the oldest first.
type NoteListing struct {
	Notes []client.Note `json:"notes"`
}

type notesRequest struct {
	byAgent
	Person string `json:"person,omitempty" doc:"the key of their chat, such as web/dm/ana: only notes about them"`
}

func (h Host) notes(ctx context.Context, asked notesRequest) (NoteListing, error) {
	all, err := h.client().Notes(ctx, asked.Agent, asked.Person)
	return NoteListing{seen(ctx, all, func(n client.Note) string { return n.Agent })}, err
}

// A NoteID names a note of an agent.
type NoteID struct {
	Agent string `json:"agent"`
	ID    string `json:"id"`
}

func (h Host) deleteNote(ctx context.Context, n NoteID) (client.Note, error) {
	all, err := h.notes(ctx, notesRequest{byAgent: byAgent{n.Agent}})
	if err != nil {
		return client.Note{}, err
	}
	for _, note := range all.Notes {
		if note.ID == n.ID && note.Agent == n.Agent {
			return note, h.client().DeleteNote(ctx, note)
		}
	}
	return client.Note{}, coded(client.CodeNotFound, "agent %q has no note %q", n.Agent, n.ID)
}
