package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agenthost/session"
)

// Resolve is the one of ids that short is, or begins; empty: none. An id that a
// table has cut may end in …. That several begin so is an error.
func Resolve(what, short string, ids []string) (string, error) {
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
	return "", notUnique(what, short, meant)
}

// ErrNotUnique is the error of a shortened id or key that several begin with.
var ErrNotUnique = errors.New("is not unique")

func notUnique(what, short string, meant []string) error {
	return fmt.Errorf("%s %q %w: it begins %s; write more of it", what, short, ErrNotUnique, some(meant))
}

// some names a few of a list.
func some(list []string) string {
	const few = 3
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(list[:few], ", "), len(list)-few)
}

// Find is the sid of the session of an agent that text names, by its key, its sid
// or the beginning of one of them. That there is none is ErrNoSession, that the
// text can be no name a *NameError.
func (s *Sessions) Find(ctx context.Context, agent, text string) (sid string, err error) {
	sid, wrong := session.ID(agent, text)
	if wrong == nil {
		if known, err := s.archive.Has(ctx, agent, sid); known || err != nil {
			return sid, s.explain(ctx, err)
		}
	}
	keys, err := s.archive.Keys(ctx, agent)
	if err != nil {
		return "", s.explain(ctx, err)
	}
	sid, err = findKey(keys, text)
	if sid == "" && err == nil {
		err = ErrNoSession
		if wrong != nil {
			err = &NameError{wrong}
		}
	}
	return sid, err
}

// findKey is the sid of the one session that short means; empty: none.
func findKey(keys map[string]session.Key, text string) (sid string, err error) {
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
	if len(meant) > 1 {
		slices.Sort(meant)
		return "", notUnique("session", text, meant)
	}
	return sid, nil
}

// has reports whether an agent has a session that text names in full.
func (s *Sessions) has(ctx context.Context, agent, text string) (bool, error) {
	sid, err := session.ID(agent, text)
	if err != nil {
		return false, nil //nolint:nilerr // what is no name may be the beginning of one
	}
	return s.archive.Has(ctx, agent, sid)
}
