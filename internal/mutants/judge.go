package main

import (
	"bufio"
	"encoding/json"
	"io"
	"slices"
	"strings"
)

// An outcome is how a run of tests ended.
type outcome string

const (
	caught   outcome = "caught" // a test has failed by what it asserts
	passed   outcome = "SURVIVED"
	noTests  outcome = "NO TEST has that name"
	broken   outcome = "DOES NOT BUILD"
	timedOut outcome = "TIMEOUT"
	crashed  outcome = "PANIC"
)

// An event is a line of go test -json.
type event struct {
	Action string
	Test   string
	Output string
}

// judge reads the output of go test -json. Only a test that fails by itself catches a
// mutant: a build that fails, a panic and a timeout say nothing of what is promised.
func judge(lines io.Reader) result {
	r := result{outcome: noTests}
	var output strings.Builder
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, 64<<20)
	panicked := outcome("")
	for scanner.Scan() {
		e := event{}
		if json.Unmarshal(scanner.Bytes(), &e) != nil {
			e = event{Output: scanner.Text() + "\n"}
		}
		output.WriteString(e.Output)
		switch {
		case e.Action == "build-fail":
			r.outcome = broken
		case strings.HasPrefix(e.Output, "panic: test timed out"):
			panicked = timedOut
		case strings.HasPrefix(e.Output, "panic: "), strings.HasPrefix(e.Output, "fatal error: "):
			panicked = crashed
		case e.Action == "pass" && e.Test != "" && r.outcome == noTests:
			r.outcome = passed
		case e.Action == "fail" && e.Test == "" && (r.outcome == passed || r.outcome == noTests): // TestMain, or it was killed
			r.outcome = crashed
		case e.Action == "fail" && e.Test != "" && panicked == "":
			r.outcome, r.failed = caught, append(r.failed, e.Test)
		}
	}
	if panicked != "" && r.outcome != caught {
		r.outcome = panicked
	}
	r.failed = innermost(r.failed)
	r.output = output.String()
	return r
}

// innermost are the tests without those that contain them: of TestA and TestA/b, the latter.
func innermost(tests []string) []string {
	return slices.DeleteFunc(slices.Clone(tests), func(outer string) bool {
		return slices.ContainsFunc(tests, func(inner string) bool { return strings.HasPrefix(inner, outer+"/") })
	})
}
