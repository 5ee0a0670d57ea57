//go:build unix

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// How much is shown of a run that failed, to who has its output and not its folder.
const (
	explained  = 3   // violations
	traced     = 15  // lines of each
	lastFaults = 20  // lines of faults.log
	lastWords  = 5   // errors of each process
	shown      = 400 // bytes of a line
)

// explain prints what happened around violations: what the streams say of what the first
// of them name, the faults at the end, and the last errors of each process.
func explain(w io.Writer, dir string, violations []string) {
	for _, v := range violations[:min(len(violations), explained)] {
		fmt.Fprintf(w, "\nviolation: %s\n", cut(v))
		for _, line := range trace(dir, named(v)) {
			fmt.Fprintln(w, "  "+line)
		}
	}
	fmt.Fprintln(w, "\nthe last faults:")
	for _, line := range tail(filepath.Join(dir, "faults.log"), lastFaults, everyLine) {
		fmt.Fprintln(w, "  "+line)
	}
	logs, _ := filepath.Glob(filepath.Join(dir, "*-[0-9]*.log")) // the pattern is a good one
	for _, log := range logs {
		words := tail(log, lastWords, bad)
		if len(words) > 0 {
			fmt.Fprintf(w, "\nthe last errors of %s:\n  %s\n", strings.TrimSuffix(filepath.Base(log), ".log"), strings.Join(words, "\n  "))
		}
	}
}

// An id is of an input, a run, a call or a session log.
var idWord = regexp.MustCompile(`[a-z]+-[a-z]*\d+-\d+|[0-9a-zA-Z]{16,}`)

// named are the ids in a violation.
func named(violation string) []string {
	ids := idWord.FindAllString(violation, -1)
	slices.Sort(ids)
	return slices.Compact(ids)
}

// trace are lines of the streams that have one of the ids, by their time.
func trace(dir string, ids []string) []string {
	type entry struct{ at, text string }
	var list []entry
	if len(ids) == 0 {
		return nil
	}
	one := regexp.MustCompile(`\b(` + strings.Join(ids, "|") + `)\b`)
	files, _ := filepath.Glob(filepath.Join(dir, "*.jsonl")) // the pattern is a good one
	for _, file := range files {
		stream := strings.TrimSuffix(filepath.Base(file), ".jsonl")
		for _, line := range tail(file, traced, one.MatchString) {
			_, rest, _ := strings.Cut(line, " ") // the sequence
			list = append(list, entry{rest[:min(len(rest), len("15:04:05.000"))], stream + " " + line})
		}
	}
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(a.at, b.at) })
	var lines []string
	for _, e := range list[:min(len(list), traced)] {
		lines = append(lines, e.text)
	}
	return lines
}

// tail are the last lines of a file that count.
func tail(file string, most int, counts func(string) bool) (lines []string) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil // it was not written
	}
	all := bufio.NewScanner(bytes.NewReader(data))
	all.Buffer(nil, len(data)+1)
	for all.Scan() {
		if counts(all.Text()) {
			lines = append(lines, cut(all.Text()))
		}
	}
	return lines[max(0, len(lines)-most):]
}

func everyLine(string) bool { return true }

// bad are lines of a host or a server that somebody should read. The address that the
// servers advertise is nobody's, so that they take the lines between them.
func bad(line string) bool {
	return !strings.Contains(line, "dial tcp "+nobody) && slices.ContainsFunc([]string{`"level":"error"`, `"level":"fatal"`, "panic:", "fatal error:", "[ERR]", "[FTL]", "agenthost: "}, func(mark string) bool {
		return strings.Contains(line, mark)
	})
}

func cut(line string) string {
	if len(line) > shown {
		return line[:shown] + "…"
	}
	return line
}
