package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agenthost/internal/control"

	"github.com/nats-io/nats.go/jetstream"
)

// resolve is the one of ids that short is, or begins. Of a table that was cut it
// may end in ….
func resolve(what, short string, ids []string) (string, error) {
	if slices.Contains(ids, short) {
		return short, nil
	}
	begin := strings.TrimSuffix(short, "…")
	if begin == "" {
		return "", nil
	}
	var meant []string
	for _, id := range ids {
		if strings.HasPrefix(id, begin) {
			meant = append(meant, id)
		}
	}
	switch len(meant) {
	case 0:
		return "", nil
	case 1:
		return meant[0], nil
	}
	return "", fmt.Errorf("%s %q is not unique: it begins %s; write more of it", what, short, some(meant))
}

// some names a few of a list.
func some(list []string) string {
	const few = 3
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(list[:few], ", "), len(list)-few)
}

// find is the session of an agent that text names, by its key, its sid or the
// beginning of one of them. It is an error when there is none.
func (s *shelf) find(ctx context.Context, agent, text string) (sid string, err error) {
	sid, wrong := control.SessionID(agent, text)
	if wrong == nil {
		if known, err := s.Has(ctx, agent, sid); known || err != nil {
			return sid, err
		}
	}
	keys, err := s.Keys(ctx, agent)
	if err != nil {
		return "", err
	}
	short := strings.TrimSuffix(text, "…")
	if _, ok := keys[short]; ok {
		return short, nil
	}
	var meant []string
	for id, key := range keys {
		if strings.HasPrefix(string(key), short) || strings.HasPrefix(id, short) {
			sid, meant = id, append(meant, string(key))
		}
	}
	slices.Sort(meant)
	switch {
	case len(meant) == 1:
		return sid, nil
	case len(meant) > 1:
		return "", fmt.Errorf("session %q is not unique: it begins %s; write more of it", printable(text), printable(some(meant)))
	case wrong != nil:
		return "", usage("%w", wrong)
	}
	return "", unknown(control.ErrNoSession, agent, text)
}

// findWaiting reads what waits under an id, or the only one that begins so.
func findWaiting(ctx context.Context, js jetstream.JetStream, id string) (control.Waiting, error) {
	w, err := control.ReadWaiting(ctx, js, id)
	if err == nil || !errors.Is(err, control.ErrNotWaiting) {
		return w, err
	}
	list, failed := control.AllWaiting(ctx, js)
	if failed != nil {
		return w, failed
	}
	whole, failed := resolve("id", id, idsOf(list))
	switch {
	case failed != nil:
		return w, failed
	case whole == "":
		return w, err
	}
	return control.ReadWaiting(ctx, js, whole)
}

func idsOf(list []control.Waiting) (ids []string) {
	for _, w := range list {
		if w.Kind != control.ForDelegate { // no person answers those
			ids = append(ids, w.ID)
		}
	}
	return ids
}
