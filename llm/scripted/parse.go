package scripted

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"

	"agenthost/internal/yamldoc"
	"agenthost/llm"
)

type script struct {
	Rules []*rule `yaml:"rules"`
}

// Load reads the script in a file. An error names the file and, when it is in
// the script, the line.
func Load(path string) (*Provider, error) {
	data, err := yamldoc.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("load script %q: %w", path, err)
	}
	p, err := parse(data, filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("load script %q: %w", path, err)
	}
	return p, nil
}

// Parse reads a script, whose files are relative to the working folder. Whatever
// it does not understand is an error that names the line; of several, all are
// told.
func Parse(data []byte) (*Provider, error) { return parse(data, "") }

func parse(data []byte, dir string) (*Provider, error) {
	var s script
	err := yamldoc.Strict(data, &s)
	switch {
	case err != nil && !errors.Is(err, yamldoc.ErrDocuments):
		return nil, err
	case len(s.Rules) == 0:
		return nil, errors.New("script has no rules")
	case err != nil:
		return nil, fmt.Errorf("script has %w", err)
	}
	lines := linesOf(data)
	var errs []error
	for i, r := range s.Rules {
		if err := prepare(r, dir); err != nil {
			errs = append(errs, fmt.Errorf("line %d: %w", lines[i], err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Provider{rules: s.Rules}, nil
}

// linesOf are the lines the rules begin in. The script has been parsed, so
// its shape is known.
func linesOf(data []byte) []int {
	var doc struct {
		Rules []yamldoc.Raw `yaml:"rules"`
	}
	_ = yamldoc.Strict(data, &doc)
	lines := make([]int, len(doc.Rules))
	for i, n := range doc.Rules {
		lines[i] = n.Line
	}
	return lines
}

// prepare checks what the types cannot, compiles the expression and reads files.
func prepare(r *rule, dir string) (err error) {
	switch {
	case r == nil:
		return errors.New("rule is empty")
	case r.Text != nil && r.Chunks != nil:
		return errors.New("text and chunks exclude each other")
	case r.Error != nil && r.Cut:
		return errors.New("error and cut exclude each other")
	case r.breaks() && r.Finish != "":
		return errors.New("a stream that breaks has no finish")
	case r.Error != nil && r.Error.Code != "" && !slices.Contains(codes, r.Error.Code):
		return fmt.Errorf("code %q: want one of %v", r.Error.Code, codes)
	case r.Times < 0 || r.Delay < 0:
		return errors.New("times and delay are not negative")
	case !r.says():
		return errors.New("rule answers nothing: give it a text, chunks, media, tool_calls, error, cut or finish")
	case r.Finish != "" && !slices.Contains(finishes, r.Finish):
		return fmt.Errorf("finish %q: want one of %v", r.Finish, finishes)
	case slices.ContainsFunc(r.ToolCalls, func(c toolCall) bool { return c.Name == "" }):
		return errors.New("a tool call has no name")
	}
	for i := range r.Media {
		if err := r.Media[i].load(dir); err != nil {
			return err
		}
	}
	if r.Match != nil {
		r.match, err = regexp.Compile(*r.Match)
	}
	return err
}

// What a provider can end with, well or badly.
var (
	finishes = []llm.Finish{llm.FinishStop, llm.FinishLength, llm.FinishToolCalls, llm.FinishContentFilter}
	codes    = []llm.Code{llm.CodeValidation, llm.CodeContentFilter, llm.CodeProviderAuth, llm.CodeProviderRateLimit, llm.CodeProviderUnavailable}
)

func (r *rule) says() bool {
	return r.Text != nil || r.Chunks != nil || r.Media != nil || r.ToolCalls != nil || r.Error != nil || r.Cut ||
		r.Finish != "" || r.Reasoning != ""
}
