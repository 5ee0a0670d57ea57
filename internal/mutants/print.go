package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// lastWords is how much is shown of the output of tests that did not end by themselves, in bytes.
const lastWords = 8 << 10

// A printedTable is printed while it is made: a row takes seconds.
type printedTable struct {
	out         io.Writer
	name, about int // widths
}

func newTable(out io.Writer, mutants []mutant) printedTable {
	t := printedTable{out: out, name: len("mutant"), about: len("breaks")}
	for _, m := range mutants {
		t.name, t.about = max(t.name, len(m.name)), max(t.about, len(m.breaks))
	}
	fmt.Fprintf(out, "\n%-*s  %-*s  %7s  %s\n", t.name, "mutant", t.about, "breaks", "seconds", "caught by")
	return t
}

func (t printedTable) row(m mutant, r result) {
	by := string(r.outcome)
	if r.outcome == caught {
		by = strings.TrimPrefix(m.pkg, "./") + ": " + r.failed[0]
	}
	fmt.Fprintf(t.out, "%-*s  %-*s  %7.1f  %s\n", t.name, m.name, t.about, m.breaks, r.took.Seconds(), by)
	switch r.outcome {
	case broken:
		fmt.Fprintln(t.out, r.output)
	case crashed, timedOut:
		fmt.Fprintln(t.out, r.output[max(0, len(r.output)-lastWords):])
	}
}

// printMutants prints what -list does.
func printMutants(out io.Writer, mutants []mutant) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "mutant\tbreaks\tfile\tcaught by")
	for _, m := range mutants {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s: %s\n", m.name, m.breaks, m.file, m.pkg, strings.Join(m.tests, " "))
	}
	w.Flush()
}
