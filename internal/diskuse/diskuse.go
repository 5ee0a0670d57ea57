// Package diskuse measures what a folder takes on its disk.
package diskuse

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// least is what a file or folder counts at least: empty files take room as well,
// and a limit has to end their number.
const least = 4096

// Of returns what dir and all that is in it take; it stops with ctx. A file with
// several names counts for each; links are not followed. What vanishes meanwhile
// does not count, nor does a file that is deleted and still open.
//
// A folder that its owner may not look into is made readable, as nothing in it
// would count otherwise. One of another user does not count.
func Of(ctx context.Context, dir string) (int64, error) {
	root, err := os.OpenRoot(dir) // a folder may become a link to another place meanwhile
	if err != nil {
		return 0, fmt.Errorf("measure folder: %w", err)
	}
	defer root.Close()
	var used int64
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return unless(err, fs.ErrNotExist, fs.ErrPermission)
		}
		info, err := d.Info()
		if err != nil {
			return unless(err, fs.ErrNotExist)
		}
		used += max(least, allocated(info))
		if d.IsDir() && info.Mode().Perm()&0o500 != 0o500 {
			return reveal(root, dir, path, info.Mode().Perm())
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("measure folder: %w", err)
	}
	return used, nil
}

func reveal(root *os.Root, dir, path string, mode fs.FileMode) error {
	name, err := filepath.Rel(dir, path)
	if err != nil {
		return err
	}
	return unless(root.Chmod(name, mode|0o500), fs.ErrNotExist, fs.ErrPermission)
}

// unless is err, or nil when it is one of those that are expected.
func unless(err error, expected ...error) error {
	if slices.ContainsFunc(expected, func(e error) bool { return errors.Is(err, e) }) {
		return nil
	}
	return err
}
