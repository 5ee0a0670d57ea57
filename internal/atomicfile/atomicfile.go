// Package atomicfile writes files whole or not at all: on a full disk, and after a crash, the
// file that was there before is still there.
package atomicfile

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// A File is written, and waits beside its place until [File.Replace] or [File.Discard].
type File struct{ part, path string }

// New writes a file with these permissions, less the umask, into the folder of path.
func New(path string, data []byte, mode fs.FileMode) (*File, error) {
	f := &File{filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()), path}
	out, err := os.OpenFile(f.part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, f.named(err)
	}
	_, err = out.Write(data)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		f.Discard()
		return nil, f.named(err)
	}
	return f, nil
}

// named is err with the name of the file itself: the one beside it is gone.
func (f *File) named(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		at.Path = f.path
	}
	return err
}

// Replace puts the file into its place, over one that is there.
func (f *File) Replace() error {
	err := os.Rename(f.part, f.path)
	if err != nil {
		f.Discard()
	}
	if at, ok := errors.AsType[*os.LinkError](err); ok { // without the name beside it, which is gone
		return &fs.PathError{Op: "replace", Path: f.path, Err: at.Err}
	}
	return err
}

// Discard removes the file, unless it is in its place.
func (f *File) Discard() { _ = os.Remove(f.part) }

// Write is New and Replace.
func Write(path string, data []byte, mode fs.FileMode) error {
	f, err := New(path, data, mode)
	if err != nil {
		return err
	}
	return f.Replace()
}
