package config

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
	return p.place().String() + ": " + p.Text
}

// Warning returns file:line:column: warning: text.
func (p Problem) Warning() string { return p.place().String() + ": warning: " + p.Text }

func (p Problem) place() place { return place{p.File, p.Line, p.Column} }

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

type place struct {
	file         string
	line, column int
}

func (p place) String() string {
	if p.line == 0 {
		return p.file
	}
	return fmt.Sprintf("%s:%d:%d", p.file, p.line, p.column)
}

// problems collects what is wrong. The zero value is empty.
type problems struct {
	list  []Problem
	files []string // in the order they were read
}

func (ps *problems) add(at place, format string, args ...any) {
	ps.list = append(ps.list, Problem{at.file, at.line, at.column, fmt.Sprintf(format, args...)})
}

// err returns a *FileError, or nil when nothing is wrong.
func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	slices.SortStableFunc(ps.list, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(slices.Index(ps.files, a.File), slices.Index(ps.files, b.File)),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Text, b.Text))
	})
	// What an alias brings in is read, and found wrong, wherever it is used.
	return &FileError{Problems: slices.Compact(ps.list)}
}
