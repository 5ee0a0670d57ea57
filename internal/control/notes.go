package control

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"agenthost/tools/memory"

	"github.com/nats-io/nats.go/jetstream"
)

// Note is something that an agent remembers.
type Note = memory.Note

// AllNotes lists what agent remembers, or every agent when it is empty, the
// oldest first. With a person, the key of a session, it is what the notes are
// about or who was there when they were made.
func AllNotes(ctx context.Context, js jetstream.JetStream, agent, person string) ([]Note, error) {
	list, err := memory.All(ctx, js, agent, person)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Note) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Agent, b.Agent), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

// DeleteNote deletes a note of AllNotes for good, in all hosts.
func DeleteNote(ctx context.Context, js jetstream.JetStream, n Note) error {
	return memory.Delete(ctx, js, n)
}
