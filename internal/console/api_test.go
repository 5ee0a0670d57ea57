package console_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// How the sources of the pages make a request, and how they write a text.
var (
	request = regexp.MustCompile(`(?:^|[^.\w])(get|post|useData|has|address|EventSource)\(`)
	literal = regexp.MustCompile(`'([^']*)'`)
)

// Whatever a page asks of its host is documented.
func TestPagesUseTheDocumentedAPI(t *testing.T) {
	t.Parallel()
	documented := documentedAPI(t)
	used := map[string]bool{}
	for _, file := range sources(t) {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range calls(string(data)) {
			if call.path == "openapi.json" { // the document itself
				continue
			}
			used[call.path] = true
			if !has(documented, call) {
				t.Errorf("%s asks for %s /api/%s, which docs/openapi.json does not have", file, call.method, call.path)
			}
		}
	}
	for _, path := range []string{"status", "events", "pauses", "pairings/", "sessions/say", "agents/send", "tokens/revoke", "costs"} {
		if !used[path] {
			t.Errorf("no page asks for %s: requests are written in another way now", path)
		}
	}
	if len(used) < 40 {
		t.Errorf("%d paths are in the sources of the pages, which have 40 and more", len(used))
	}
}

type apiCall struct{ method, path string } // a path may be the begin of some

// has reports whether a call is of documented, which are methods by path.
func has(documented map[string]map[string]any, call apiCall) bool {
	for path, methods := range documented {
		if _, ok := methods[call.method]; !ok {
			continue
		}
		if path == "/api/"+call.path || strings.HasSuffix(call.path, "/") && strings.HasPrefix(path, "/api/"+call.path) {
			return true
		}
	}
	return false
}

// calls are those of a source: what stands as text in the first argument of one that makes
// a request.
func calls(source string) (list []apiCall) {
	for _, at := range request.FindAllStringSubmatchIndex(source, -1) {
		method := "get"
		if source[at[2]:at[3]] == "post" {
			method = "post"
		}
		for _, text := range literal.FindAllStringSubmatch(firstArgument(source[at[1]:]), -1) {
			list = append(list, apiCall{method, strings.TrimPrefix(text[1], "/api/")})
		}
	}
	return list
}

// firstArgument is that of a call whose parenthesis has just been opened.
func firstArgument(source string) string {
	depth := 0
	for i, r := range source {
		switch {
		case strings.ContainsRune("([{", r):
			depth++
		case depth == 0 && strings.ContainsRune(",)", r):
			return source[:i]
		case strings.ContainsRune(")]}", r):
			depth--
		}
	}
	return source
}

func documentedAPI(t *testing.T) map[string]map[string]any {
	t.Helper()
	data, err := os.ReadFile("../../docs/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct{ Paths map[string]map[string]any }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Paths
}

// sources are the modules of the page that were written here.
func sources(t *testing.T) (files []string) {
	t.Helper()
	for _, pattern := range []string{"page/*.js", "page/pages/*.js"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v, %v", pattern, found, err)
		}
		files = append(files, found...)
	}
	return files
}
