package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// A mutant is one planted bug, and the tests that have to catch it.
type mutant struct {
	name   string // of letters, digits and dashes
	breaks string // what no longer holds
	file   string // from the root of the module
	old    string // occurs once in file
	new    string // takes its place
	pkg    string // whose tests catch it, as the go command has it
	tests  []string
	tags   string // build tags of those tests
	ci     bool   // .ci/run checks it

	args  []string      // of the tests that have to catch it
	lasts time.Duration // what these may take; 0: what all may
}

// source is the file with the bug.
func (m mutant) source(root string) (string, error) {
	data, err := os.ReadFile(filepath.Join(root, m.file))
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.name, err)
	}
	if n := strings.Count(string(data), m.old); n != 1 {
		return "", fmt.Errorf("%s: %s has the text %q %d times, want once: fit the mutant to the code as it is now", m.name, m.file, m.old, n)
	}
	return strings.Replace(string(data), m.old, m.new, 1), nil
}

// pattern is the -run of the tests of mutants.
func pattern(mutants []mutant) string {
	var names []string
	for _, m := range mutants {
		names = append(names, m.tests...)
	}
	slices.Sort(names)
	return "^(" + strings.Join(slices.Compact(names), "|") + ")$"
}

// table is all mutants, those of one package together: it is built with fewer changes.
func table() []mutant {
	written := slices.Concat(
		logMutants, laneMutants, engineMutants, runMutants, budgetMutants,
		scheduleMutants, courierMutants, trustMutants, partitionMutants,
	)
	return slices.Concat(written, simulated(written), simulatedAlone())
}
