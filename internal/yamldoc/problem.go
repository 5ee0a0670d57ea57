package yamldoc

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A Problem is one thing that is wrong with a configuration, where it is, and
// what would be right.
type Problem struct {
	File   string `json:"file"`
	Line   int    `json:"line"`   // from 1; 0 when the file as a whole is meant
	Column int    `json:"column"` // from 1
	Text   string `json:"text"`
}

// String returns file:line:column: text, or file: text.
func (p Problem) String() string {
	return p.Place().String() + ": " + p.Text
}

// Warning returns file:line:column: warning: text.
func (p Problem) Warning() string { return p.Place().String() + ": warning: " + p.Text }

// Place returns where the problem is.
func (p Problem) Place() Place { return Place{p.File, p.Line, p.Column} }

// A FileError is everything that is wrong with a configuration, in the order
// of the files and the lines.
type FileError struct {
	Problems []Problem
}

// Error returns one line for each problem.
func (e *FileError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// A Place is a character of a file; with the line 0 it is the whole file.
type Place struct {
	File         string
	Line, Column int
}

// Problem is what is wrong at p.
func (p Place) Problem(text string) Problem { return Problem{p.File, p.Line, p.Column, text} }

func (p Place) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Problems collects what is wrong. The zero value is empty.
type Problems struct {
	list  []Problem
	Files []string // in the order they were read
}

// Add reports a problem.
func (ps *Problems) Add(at Place, format string, args ...any) {
	ps.list = append(ps.list, at.Problem(oneLine(fmt.Sprintf(format, args...))))
}

// Each is each of the errors that errors.Join has joined in err, so that each is a problem
// of its own.
func Each(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { // one that wraps them says more than they do
		return joined.Unwrap()
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// Err returns a *FileError, or nil when nothing is wrong.
func (ps *Problems) Err() error {
	if len(ps.list) == 0 {
		return nil
	}
	slices.SortStableFunc(ps.list, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(slices.Index(ps.Files, a.File), slices.Index(ps.Files, b.File)),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Text, b.Text))
	})
	// What an alias brings in is read, and found wrong, wherever it is used.
	ps.list = slices.Compact(ps.list)
	return &FileError{Problems: slices.Clone(ps.list)}
}
