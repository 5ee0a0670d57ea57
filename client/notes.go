package client

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"agenthost/internal/audit"
	"agenthost/tools/memory"
)

// Note is something that an agent remembers.
type Note = memory.Note

// Notes lists what an agent remembers, or every agent when it is empty, the
// oldest first. With a person, the key of a session, these are the notes about
// them and those made in their chat.
func (c *Client) Notes(ctx context.Context, agent, person string) ([]Note, error) {
	list, err := memory.All(ctx, c.js, agent, person)
	if err != nil {
		return nil, hintBucket(err)
	}
	slices.SortFunc(list, func(a, b Note) int {
		return cmp.Or(a.At.Compare(b.At), strings.Compare(a.Agent, b.Agent), strings.Compare(a.ID, b.ID))
	})
	return list, nil
}

// DeleteNote deletes one of Notes for good, in all hosts.
func (c *Client) DeleteNote(ctx context.Context, n Note) error {
	err := memory.Delete(ctx, c.js, n)
	if err == nil {
		c.note(ctx, audit.Entry{Action: "memory-delete", Agent: n.Agent, Target: n.ID})
	}
	return hintBucket(err)
}
