package builtin

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
)

// maxWalked is how many entries one call looks at.
const maxWalked = 50_000

// A walk goes through a folder, in the order of names, a bounded part of it. It
// never follows links. The zero walk with its root is ready.
type walk struct {
	root *os.Root
	// into says whether to go into a folder; nil: into none.
	into func(name string) bool

	seen int
	full bool // there was more than maxWalked
}

// each calls visit with the path and the entry of all below dir until visit
// answers false. A folder that vanishes meanwhile is passed over.
func (w *walk) each(ctx context.Context, dir string, visit func(name string, entry fs.DirEntry) bool) error {
	entries, err := w.entries(dir)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := path.Join(dir, entry.Name())
		if !visit(name, entry) {
			return fs.SkipAll
		}
		if !entry.IsDir() || w.into == nil || !w.into(name) {
			continue
		}
		if err := w.each(ctx, name, visit); errors.Is(err, fs.SkipAll) || ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// entries does not read all of a folder that has more than the walk will see.
func (w *walk) entries(dir string) ([]fs.DirEntry, error) {
	f, err := w.root.OpenFile(dir, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	entries, err := f.ReadDir(maxWalked - w.seen + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, cause(err)
	}
	if w.seen+len(entries) > maxWalked {
		w.full = true
		entries = entries[:maxWalked-w.seen]
	}
	w.seen += len(entries)
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// recursive is the into of walks that go down: what version control keeps for
// itself is left out.
func recursive(name string) bool { return path.Base(name) != ".git" }
