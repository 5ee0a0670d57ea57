package builtin

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"agenthost/tools"
)

// writeTool is not to be run again: between the two another call may have
// written the file.
func (w *workspaces) writeTool() tools.Tool {
	return tools.Tool{
		Name:        "write_file",
		Description: "Writes a file of the workspace, whole: what was in it is gone. Makes the folders it needs.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["path","text"],"properties":{
			"path":{"type":"string","minLength":1,"description":"relative to the workspace"},
			"text":{"type":"string"}}}`),
		Preview: func(_ context.Context, call tools.Call) tools.Preview {
			var args struct{ Path, Text string }
			_ = json.Unmarshal(call.Args, &args) // they were checked
			return tools.Preview{Sentence: "approval_write", Values: map[string]string{"path": args.Path}, Bytes: len(args.Text)}
		},
		Run: decoded(w.writeFile),
	}
}

func (w *workspaces) writeFile(ctx context.Context, call tools.Call, args struct{ Path, Text string }) (tools.Result, error) {
	err := w.change(ctx, call.Agent, func(root *os.Root) error {
		name, err := local(args.Path)
		if err != nil {
			return err
		}
		if err := w.fits(ctx, root, call.Agent, name, len(args.Text)); err != nil {
			return err
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return cause(err)
		}
		return replace(root, name, []byte(args.Text))
	})
	if err != nil {
		return tools.Result{}, fmt.Errorf("write %q: %w", args.Path, err)
	}
	return tools.Result{Text: fmt.Sprintf("wrote %d bytes to %s", len(args.Text), args.Path)}, nil
}

func (w *workspaces) editTool() tools.Tool {
	return tools.Tool{
		Name:        "edit_file",
		Description: "Replaces a piece of text in a file of the workspace. The old text must be in it exactly once, to the last space, unless all is set.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["path","old","new"],"properties":{
			"path":{"type":"string","minLength":1,"description":"relative to the workspace"},
			"old":{"type":"string","minLength":1},
			"new":{"type":"string"},
			"all":{"type":"boolean","description":"replace it wherever it is"}}}`),
		Preview: w.previewEdit,
		Run:     decoded(w.editFile),
	}
}

// previewEdit shows an edit as a diff of the file as it is now. Where it cannot be
// made, the pieces themselves are shown.
func (w *workspaces) previewEdit(_ context.Context, call tools.Call) tools.Preview {
	var args editArgs
	_ = json.Unmarshal(call.Args, &args) // they were checked
	before, after := []byte(args.Old), []byte(args.New)
	if root, err := w.open(call.Agent); err == nil {
		defer root.Close()
		if data, err := readWhole(root, args.Path); err == nil {
			if edited, _, err := args.apply(data); err == nil {
				before, after = data, edited
			}
		}
	}
	return tools.Preview{
		Sentence: "approval_edit", Values: map[string]string{"path": args.Path}, Detail: diff(string(before), string(after)),
	}
}

type editArgs struct {
	Path, Old, New string
	All            bool
}

func (w *workspaces) editFile(ctx context.Context, call tools.Call, args editArgs) (tools.Result, error) {
	replaced := 0
	err := w.change(ctx, call.Agent, func(root *os.Root) error {
		data, err := readWhole(root, args.Path)
		if err != nil {
			return err
		}
		if data, replaced, err = args.apply(data); err != nil {
			return err
		}
		name := filepath.FromSlash(args.Path)
		if err := w.fits(ctx, root, call.Agent, name, len(data)); err != nil {
			return err
		}
		return replace(root, name, data)
	})
	if err != nil {
		return tools.Result{}, fmt.Errorf("edit %q: %w", args.Path, err)
	}
	return tools.Result{Text: fmt.Sprintf("replaced %d in %s", replaced, args.Path)}, nil
}

// apply returns the text after the edit and how often it replaced the old one.
func (e editArgs) apply(data []byte) ([]byte, int, error) {
	if e.Old == "" {
		return nil, 0, errors.New("no old text")
	}
	if e.Old == e.New {
		return nil, 0, errors.New("old and new text are the same")
	}
	count := bytes.Count(data, []byte(e.Old))
	if count == 0 {
		return nil, 0, errors.New("the old text is not in it")
	}
	if count > 1 && !e.All {
		return nil, 0, fmt.Errorf("the old text occurs %d times: add lines around it until it occurs once, or set all", count)
	}
	if len(data)+count*(len(e.New)-len(e.Old)) > maxFile { // before it is made
		return nil, 0, errTooLarge
	}
	return bytes.ReplaceAll(data, []byte(e.Old), []byte(e.New)), count, nil
}

// replace puts a new file in the place of name, or of nothing; readers see the
// old or the new one whole. A file keeps its mode.
func replace(root *os.Root, name string, data []byte) (err error) {
	if len(data) > maxFile {
		return errTooLarge
	}
	var mode fs.FileMode
	switch info, err := root.Lstat(name); {
	case err == nil && !info.Mode().IsRegular():
		return errNotRegular
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return cause(err)
	}
	temp := filepath.Join(filepath.Dir(name), ".agenthost-"+strings.ToLower(rand.Text()))
	if err := writeNew(root, temp, data, mode); err != nil {
		return errors.Join(cause(err), removed(root, temp))
	}
	if err := root.Rename(temp, name); err != nil {
		return errors.Join(cause(err), removed(root, temp))
	}
	return nil
}

// writeNew gives the file the mode that the umask leaves when mode is 0.
func writeNew(root *os.Root, name string, data []byte, mode fs.FileMode) error {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if mode != 0 {
		err = f.Chmod(mode)
	}
	_, failed := f.Write(data)
	return errors.Join(err, failed, f.Sync(), f.Close())
}

// removed is the error of removing what may not be there.
func removed(root *os.Root, name string) error {
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return cause(err)
	}
	return nil
}
