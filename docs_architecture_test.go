package agenthost_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A place in the code as pages name it: a file, and maybe a function or method.
var codePlace = regexp.MustCompile("`([a-z][\\w./-]*\\.go)(?:: ([\\w.]+))?`")

// Pages name files and functions of the code that exist.
func TestPlacesInDocs(t *testing.T) {
	named := 0
	pages := []string{"CONTRIBUTING.md"}
	for _, folder := range []string{"docs/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(folder)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		for _, m := range codePlace.FindAllStringSubmatch(read(t, page), -1) {
			named++
			source, err := os.ReadFile(m[1])
			if err != nil {
				t.Errorf("%s: there is no file %s", page, m[1])
			} else if m[2] != "" && !hasFunc(string(source), m[2]) {
				t.Errorf("%s: there is no function %s in %s", page, m[2], m[1])
			}
		}
	}
	if named < 50 {
		t.Errorf("the pages name %d places: the test reads them wrongly", named)
	}
}

// hasFunc reports whether a file declares a function, or a method as Type.Method.
func hasFunc(source, name string) bool {
	declared := `(?m)^func ` + name + `[(\[]`
	if typ, method, ok := strings.Cut(name, "."); ok {
		declared = `(?m)^func \(\w+ \*?` + typ + `(\[.*?\])?\) ` + method + `\(`
	}
	return regexp.MustCompile(declared).MatchString(source)
}

func TestHasFunc(t *testing.T) {
	const source = "func (m *Manager[V]) Get(key Key) {}\nfunc Open() {}\nfunc Typed[In any]() {}\nfunc (c Call) ID() {}\n"
	for name, want := range map[string]bool{
		"Manager.Get": true, "Open": true, "Typed": true, "Call.ID": true,
		"Manager.Put": false, "Get": false, "Log.Get": false, "Ope": false,
	} {
		if hasFunc(source, name) != want {
			t.Errorf("%s: want %v", name, want)
		}
	}
}
