package main

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// Every mutant still fits the code: its text occurs once, and what it makes of the file
// is a Go file that says something else.
func TestMutantsFitTheCode(t *testing.T) {
	for _, m := range table() {
		t.Run(m.name, func(t *testing.T) {
			source, err := m.source(root)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := parser.ParseFile(token.NewFileSet(), m.file, source, parser.SkipObjectResolution); err != nil {
				t.Error(err)
			}
			if m.old == m.new {
				t.Error("it changes nothing")
			}
		})
	}
}

// Every mutant has a name of its own, and tests that there are.
func TestMutantsHaveTests(t *testing.T) {
	isName, named, ci := regexp.MustCompile(`^[a-z0-9-]+$`), map[string]bool{}, 0
	declared := map[string]map[string]bool{} // by package
	for _, m := range table() {
		if !isName.MatchString(m.name) || named[m.name] {
			t.Errorf("%q: it wants a name of its own, of letters, digits and dashes", m.name)
		}
		named[m.name] = true
		if m.breaks == "" || len(m.tests) == 0 {
			t.Errorf("%s: it wants a promise that it breaks and tests that catch it", m.name)
		}
		if m.ci {
			ci++
		}
		if declared[m.pkg] == nil {
			declared[m.pkg] = declaredTests(t, m.pkg)
		}
		for _, test := range m.tests {
			if !declared[m.pkg][test] {
				t.Errorf("%s: there is no test %s in %s", m.name, test, m.pkg)
			}
		}
	}
	if len(named) < 30 || ci < 15 {
		t.Errorf("got %d mutants, %d of them for .ci/run; want 30 and 15 at least", len(named), ci)
	}
}

var testFunc = regexp.MustCompile(`(?m)^func (Test\w+)\(`)

// declaredTests are the tests of a package.
func declaredTests(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range testFunc.FindAllSubmatch(source, -1) {
			declared[string(found[1])] = true
		}
	}
	return declared
}

// Only a test that fails by what it asserts catches a mutant.
func TestJudge(t *testing.T) {
	const (
		ran    = `{"Action":"run","Test":"TestA"}`
		failed = `{"Action":"fail","Test":"TestA"}`
		ended  = `{"Action":"fail"}`
	)
	tests := map[string]struct {
		lines []string
		want  outcome
	}{
		"a test fails":        {[]string{ran, failed, ended}, caught},
		"all pass":            {[]string{ran, `{"Action":"pass","Test":"TestA"}`, `{"Action":"pass"}`}, passed},
		"one of two fails":    {[]string{`{"Action":"pass","Test":"TestB"}`, ran, failed, ended}, caught},
		"no test is run":      {[]string{`{"Action":"output","Output":"ok\tx\t[no tests to run]\n"}`, `{"Action":"pass"}`}, noTests},
		"it does not build":   {[]string{`{"Action":"build-output","Output":"x.go:1: no\n"}`, `{"Action":"build-fail"}`, ended}, broken},
		"a test hangs":        {[]string{ran, `{"Action":"output","Test":"TestA","Output":"panic: test timed out after 1s\n"}`, failed, ended}, timedOut},
		"a panic":             {[]string{ran, `{"Action":"output","Test":"TestA","Output":"panic: nil map\n"}`, failed, ended}, crashed},
		"a leak at the end":   {[]string{ran, `{"Action":"pass","Test":"TestA"}`, ended}, crashed},
		"a panic after it":    {[]string{ran, failed, `{"Action":"output","Output":"panic: late\n"}`, ended}, caught},
		"it is killed":        {[]string{ran, ended}, crashed},
		"what is no event":    {[]string{"go: something", ran, failed}, caught},
		"nothing comes of it": {nil, noTests},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if r := judge(strings.NewReader(strings.Join(tt.lines, "\n"))); r.outcome != tt.want {
				t.Errorf("judge: got %q, want %q", r.outcome, tt.want)
			}
		})
	}
}
