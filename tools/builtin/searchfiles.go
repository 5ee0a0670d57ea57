package builtin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"

	"agenthost/internal/regexsize"
	"agenthost/tools"
)

const (
	maxFound   = 500    // lines that search_files returns
	maxPattern = 1000   // bytes of its pattern
	maxSteps   = 10_000 // of its pattern, compiled
	maxShown   = 300    // bytes of one of its lines
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
	steps := regexsize.Of(args.Pattern)
	if steps > maxSteps {
		return tools.Result{}, fmt.Errorf("search %q: too much to look for; repeat less of it, or with * and +", args.Pattern)
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
	s := search{root: root, pattern: pattern, steps: steps}
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
	steps   int // of the pattern, for each character
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
			err = s.lines(ctx, name, data)
		}
		return err
	}
	files := walk{root: s.root, into: recursive}
	err = files.below(ctx, name, matches, func(name string, entry fs.DirEntry) bool {
		if entry.Type().IsRegular() {
			s.file(ctx, name)
		}
		return !s.found.full && ctx.Err() == nil
	})
	s.more = files.full
	return cmp.Or(ctx.Err(), err)
}

// file passes over what cannot be read: a search of many files is not to fail
// at one of them.
func (s *search) file(ctx context.Context, name string) {
	data, err := readWhole(s.root, name)
	if errors.Is(err, errTooLarge) {
		s.large++
	}
	if err == nil && !binary(data) {
		_ = s.lines(ctx, name, data) // ends with ctx only, which the walk sees
	}
}

func (s *search) lines(ctx context.Context, name string, data []byte) error {
	number := 0
	for line := range bytes.Lines(data) {
		if err := ctx.Err(); err != nil {
			return err
		}
		number++
		line = bytes.TrimRight(line, "\r\n")
		if !s.matches(ctx, line) {
			continue
		}
		if s.found.count == maxFound {
			s.found.full = true
			return nil
		}
		s.found.add(fmt.Sprintf("%s:%d: %s", name, number, line[:min(len(line), maxShown)]))
	}
	return ctx.Err()
}

// atOnce is how much of a match is done without looking whether it is still wanted:
// characters times steps, a tenth of a second.
const atOnce = 10_000_000

func (s *search) matches(ctx context.Context, line []byte) bool {
	if len(line)*s.steps <= atOnce {
		return s.pattern.Match(line)
	}
	return s.pattern.MatchReader(&wanted{ctx: ctx, Reader: bytes.NewReader(line)})
}

// A wanted is a text that ends with its context: a match cannot be stopped otherwise.
type wanted struct {
	ctx  context.Context //nolint:containedctx // that is what it is
	read int
	*bytes.Reader
}

func (w *wanted) ReadRune() (rune, int, error) {
	if w.read++; w.read%64 == 0 && w.ctx.Err() != nil {
		return 0, 0, io.EOF
	}
	return w.Reader.ReadRune()
}

func (s *search) show() string {
	text := s.found.show("[nothing found]", s.found.full || s.more)
	if s.large > 0 {
		text += fmt.Sprintf("\n[%d files not searched: %s]", s.large, errTooLarge)
	}
	return text
}
