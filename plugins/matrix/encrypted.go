package matrix

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"agenthost/plugins"
)

// noteEncrypted keeps which rooms were told that they are not read.
const noteEncrypted = "encrypted"

// sayEncrypted says once in a room that what is written there cannot be read.
func (r *reader) sayEncrypted(ctx context.Context, id string) error {
	if r.encrypted[id] {
		return nil
	}
	err := r.say(ctx, id, "encrypted-"+id, "This room is encrypted, and I can't read encrypted messages. "+
		"Please invite me to a room without encryption.")
	if err != nil {
		return err
	}
	r.encrypted[id] = true
	note, err := json.Marshal(slices.Sorted(maps.Keys(r.encrypted)))
	if err != nil {
		return err
	}
	if err := r.inbox.SetNote(ctx, noteEncrypted, note); err != nil {
		return fmt.Errorf("keep the list of encrypted rooms: %w", err)
	}
	return nil
}

// say sends a notice of the account's own. A room that does not take it is left alone.
func (r *reader) say(ctx context.Context, id, key, text string) error {
	content := written(text, "")
	content.Type = "m.notice"
	_, err := r.put(ctx, r.client, id, key, content)
	if _, permanent := errors.AsType[*plugins.PermanentError](err); permanent {
		return nil
	}
	return err
}
