package builtin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"agenthost/tools"
)

// maxListed is how many names list_files returns.
const maxListed = 1000

func (w *workspaces) listTool() tools.Tool {
	return tools.Tool{
		Name:        "list_files",
		Description: "Lists a folder of the workspace, with the size of each file in bytes. With a glob it lists what matches in all folders below.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{
			"path":{"type":"string","description":"relative to the workspace; the workspace itself by default"},
			"glob":{"type":"string","description":"such as *.go or docs/**/*.md"}}}`),
		ReadOnly: true,
		Rerun:    true,
		Run:      decoded(w.listFiles),
	}
}

func (w *workspaces) listFiles(ctx context.Context, call tools.Call, args struct{ Path, Glob string }) (tools.Result, error) {
	matches, err := parseGlob(args.Glob)
	if err != nil {
		return tools.Result{}, err
	}
	root, err := w.open(call.Agent)
	if err != nil {
		return tools.Result{}, err
	}
	defer root.Close()
	files := walk{root: root}
	if args.Glob != "" {
		files.into = recursive
	}
	var list lines
	dir := cmp.Or(args.Path, ".")
	err = files.below(ctx, dir, matches, func(name string, entry fs.DirEntry) bool {
		if list.count == maxListed {
			list.full = true
			return false
		}
		list.add(files.describe(name, entry))
		return true
	})
	if err != nil {
		return tools.Result{}, fmt.Errorf("list %q: %w", dir, err)
	}
	return tools.Result{Text: list.show("[no files]", list.full || files.full)}, nil
}

// below calls visit with what the glob matches; a path is matched as it is seen
// from dir, and given as it is seen from the workspace.
func (w *walk) below(ctx context.Context, dir string, matches glob, visit func(name string, entry fs.DirEntry) bool) error {
	if _, err := local(dir); err != nil {
		return err
	}
	dir = filepath.ToSlash(filepath.Clean(dir))
	err := w.each(ctx, dir, func(name string, entry fs.DirEntry) bool {
		return !matches.match(strings.TrimPrefix(name, dir+"/")) || visit(name, entry)
	})
	if errors.Is(err, fs.SkipAll) {
		return nil
	}
	return err
}

func (w *walk) describe(name string, entry fs.DirEntry) string {
	switch info, err := w.root.Lstat(name); {
	case entry.IsDir():
		return name + "/"
	case entry.Type()&fs.ModeSymlink != 0:
		return name + " (link)"
	case err != nil || !entry.Type().IsRegular():
		return name
	default:
		return fmt.Sprintf("%s %d", name, info.Size())
	}
}

// lines collects what a call found.
type lines struct {
	text  strings.Builder
	count int
	full  bool
}

func (l *lines) add(line string) {
	l.text.WriteString(strings.ToValidUTF8(line, "\uFFFD"))
	l.text.WriteByte('\n')
	l.count++
}

func (l *lines) show(none string, more bool) string {
	if l.count == 0 && !more {
		return none
	}
	if more {
		l.text.WriteString("[there is more; name a folder or a narrower pattern]\n")
	}
	return l.text.String()
}
