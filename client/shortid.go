package client

import (
	"fmt"
	"slices"
	"strings"
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

func notUnique(what, short string, meant []string) error {
	return fmt.Errorf("%s %q is not unique: it begins %s; write more of it", what, short, some(meant))
}

// some names a few of a list.
func some(list []string) string {
	const few = 3
	if len(list) <= few {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s and %d others", strings.Join(list[:few], ", "), len(list)-few)
}
