package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"

	"agenthost/tools"
)

const (
	maxFound   = 500  // lines that search_files returns
	maxPattern = 1000 // bytes of its pattern
	maxShown   = 300  // bytes of one of its lines
)

func (w *workspaces) searchTool() tools.Tool {
	return tools.Tool{
		Name:        "search_files",
		Description: "Finds the lines of text files that match a regular expression (RE2), in a file or in all folders below a folder of the workspace.",
		Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["pattern"],"properties":{
			"pattern":{"type":"string","minLength":1,"maxLength":1000},
			"path":{"type":"string","description":"relative to the workspace; the workspace itself by default"},
			"glob":{"type":"string","description":"only in files that match it, such as *.go or docs/**/*.md"}}}`),
		ReadOnly: true,
		Rerun:    true,
		Run:      decoded(w.searchFiles),
	}
}

type searchArgs struct{ Pattern, Path, Glob string }

func (w *workspaces) searchFiles(ctx context.Context, call tools.Call, args searchArgs) (tools.Result, error) {
	if args.Pattern == "" || len(args.Pattern) > maxPattern {
		return tools.Result{}, fmt.Errorf("search: a pattern has 1 to %d bytes", maxPattern)
	}
	pattern, err := regexp.Compile(args.Pattern)
	if err != nil {
		return tools.Result{}, fmt.Errorf("search %q: %w", args.Pattern, err)
	}
	matches, err := parseGlob(args.Glob)
	if err != nil {
		return tools.Result{}, err
	}
	root, err := w.open(call.Agent)
	if err != nil {
		return tools.Result{}, err
	}
	defer root.Close()
	s := search{root: root, pattern: pattern}
	path := cmp.Or(args.Path, ".")
	if err := s.run(ctx, path, matches); err != nil {
		return tools.Result{}, fmt.Errorf("search in %q: %w", path, err)
	}
	return tools.Result{Text: s.show()}, nil
}

// A search is one call of search_files.
type search struct {
	root    *os.Root
	pattern *regexp.Regexp
	found   lines
	large   int // files that were too large
	more    bool
}

func (s *search) run(ctx context.Context, name string, matches glob) error {
	if _, err := local(name); err != nil {
		return err
	}
	info, err := s.root.Stat(name)
	if err != nil {
		return cause(err)
	}
	if !info.IsDir() {
		data, err := readWhole(s.root, name)
		if err == nil && binary(data) {
			err = errors.New("a binary file")
		}
		if err == nil {
			s.lines(name, data)
		}
		return err
	}
	files := walk{root: s.root, into: recursive}
	err = files.below(ctx, name, matches, func(name string, entry fs.DirEntry) bool {
		if entry.Type().IsRegular() {
			s.file(name)
		}
		return !s.found.full
	})
	s.more = files.full
	return err
}

// file passes over what cannot be read: a search of many files is not to fail
// at one of them.
func (s *search) file(name string) {
	data, err := readWhole(s.root, name)
	if errors.Is(err, errTooLarge) {
		s.large++
	}
	if err == nil && !binary(data) {
		s.lines(name, data)
	}
}

func (s *search) lines(name string, data []byte) {
	number := 0
	for line := range bytes.Lines(data) {
		number++
		line = bytes.TrimRight(line, "\r\n")
		if !s.pattern.Match(line) {
			continue
		}
		if s.found.count == maxFound {
			s.found.full = true
			return
		}
		s.found.add(fmt.Sprintf("%s:%d: %s", name, number, line[:min(len(line), maxShown)]))
	}
}

func (s *search) show() string {
	text := s.found.show("[nothing found]", s.found.full || s.more)
	if s.large > 0 {
		text += fmt.Sprintf("\n[%d files not searched: %s]", s.large, errTooLarge)
	}
	return text
}
