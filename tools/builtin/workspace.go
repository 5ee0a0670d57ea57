package builtin

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// maxFile is the most of a file that is ever held in memory.
const maxFile = 10 << 20

// nonBlocking keeps the opening of a FIFO from waiting for a writer.
const nonBlocking = syscall.O_NONBLOCK

var (
	errOutside    = errors.New("outside the workspace")
	errNotRegular = errors.New("not a regular file")
	errBinary     = errors.New("a binary file")
	errTooLarge   = fmt.Errorf("larger than %d MB", maxFile>>20)
)

// workspaces are the folders of all agents.
type workspaces struct {
	folder func(agent string) string
	limit  func(agent string) int64 // what it may take, in bytes
	// writes holds one token for each group of agents: who changes files of an
	// agent's workspace takes it, so that two edits of a file do not lose one.
	writes [64]chan struct{}
	seed   maphash.Seed
}

func newWorkspaces(o Options) *workspaces {
	w := &workspaces{folder: o.Workspace, limit: o.Space, seed: maphash.MakeSeed()}
	if w.limit == nil {
		w.limit = func(string) int64 { return DefaultSpace }
	}
	for i := range w.writes {
		w.writes[i] = make(chan struct{}, 1)
	}
	return w
}

// made returns the agent's folder, which exists then.
func (w *workspaces) made(agent string) (string, error) {
	dir, err := filepath.Abs(w.folder(agent))
	if err != nil {
		return "", fmt.Errorf("workspace of agent %q: %w", agent, err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("workspace of agent %q: %w", agent, err)
	}
	return dir, nil
}

func (w *workspaces) open(agent string) (*os.Root, error) {
	dir, err := w.made(agent)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("workspace of agent %q: %w", agent, err)
	}
	return root, nil
}

// change runs fn while no other call changes files of the agent.
func (w *workspaces) change(ctx context.Context, agent string, fn func(*os.Root) error) error {
	if err := ctx.Err(); err != nil { // the select below may not look
		return err
	}
	root, err := w.open(agent)
	if err != nil {
		return err
	}
	defer root.Close()
	token := w.writes[maphash.String(w.seed, agent)%uint64(len(w.writes))]
	select {
	case token <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-token }()
	return fn(root)
}

// local refuses what names a place outside by itself; links are for os.Root.
func local(name string) (string, error) {
	name = filepath.FromSlash(name)
	if !filepath.IsLocal(name) {
		return "", errOutside
	}
	return name, nil
}

// openRegular does not block on a FIFO, and refuses all that is not a file of
// bytes.
func openRegular(root *os.Root, name string) (*os.File, fs.FileInfo, error) {
	name, err := local(name)
	if err != nil {
		return nil, nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonBlocking, 0)
	if err != nil {
		return nil, nil, cause(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errNotRegular
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// readWhole reads a file of up to maxFile bytes. Its size is not trusted: it may
// grow meanwhile.
func readWhole(root *os.Root, name string) ([]byte, error) {
	f, info, err := openRegular(root, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > maxFile {
		return nil, errTooLarge
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, cause(err)
	}
	if len(data) > maxFile {
		return nil, errTooLarge
	}
	return data, nil
}

// binary judges by the first bytes of a file, as git does.
func binary(data []byte) bool {
	return bytes.IndexByte(data[:min(len(data), sniffLength)], 0) >= 0
}

const sniffLength = 8000

// cause is err without the operation and the path that os puts before it: the
// path is said already, and as the model wrote it.
func cause(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	if link, ok := errors.AsType[*os.LinkError](err); ok {
		return link.Err
	}
	return err
}
