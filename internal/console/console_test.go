package console_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"agenthost/internal/console"
)

func served() http.Handler {
	mux := http.NewServeMux()
	console.Mount(mux, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }))
	return mux
}

func get(t *testing.T, h http.Handler, path string, header map[string]string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Browsers get the page, programs what they have always got.
func TestPageIsForBrowsers(t *testing.T) {
	tests := map[string]struct {
		accept string
		page   bool
	}{
		"a browser":        {"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true},
		"in other letters": {"Text/HTML", true},
		"curl":             {"*/*", false},
		"nothing":          {"", false},
		"a program":        {"application/json", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := get(t, served(), "/", map[string]string{"Accept": tt.accept})
			if page := strings.Contains(w.Body.String(), "<!doctype html>"); w.Code != http.StatusOK || page != tt.page {
				t.Errorf("got %d %.80s", w.Code, w.Body)
			}
			if w.Header().Get("Vary") != "Accept" {
				t.Error("a cache may mix them up")
			}
		})
	}
}

// Every file that the page or one of its modules names is served, with the policy.
func TestFilesOfThePage(t *testing.T) {
	h := served()
	browser := map[string]string{"Accept": "text/html"}
	seen := map[string]bool{}
	var look func(path, text string)
	look = func(path, text string) {
		for _, m := range regexp.MustCompile(`(?:from '|src="|href=")(\.{0,2}/[^'"]+\.(?:js|css|svg))['"]`).FindAllStringSubmatch(text, -1) {
			name := m[1]
			if strings.HasPrefix(name, ".") {
				name = resolved(path, name)
			}
			if seen[name] {
				continue
			}
			seen[name] = true
			w := get(t, h, name, nil)
			header := w.Header()
			if w.Code != http.StatusOK || header.Get("Content-Type") == "" || header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s, named in %s: got %d %v", name, path, w.Code, header)
			}
			if tag := header.Get("ETag"); get(t, h, name, map[string]string{"If-None-Match": tag}).Code != http.StatusNotModified {
				t.Errorf("%s is sent again to those who have it", name)
			}
			look(name, w.Body.String())
		}
	}
	page := get(t, h, "/", browser)
	look("/", page.Body.String())
	if len(seen) < 20 {
		t.Errorf("found %d files only: %v", len(seen), seen)
	}
	policy := page.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'", "trusted-types 'none'", "frame-ancestors 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy lacks %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is open: %s", policy)
	}
	if w := get(t, h, "/console/vendor/licenses.txt", nil); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "MIT") {
		t.Errorf("the licences of what others have written: got %d", w.Code)
	}
}

// resolved is the address of a module that another one imports.
func resolved(from, name string) string {
	dir := from[:strings.LastIndex(from, "/")+1]
	name = strings.TrimPrefix(name, "./")
	for strings.HasPrefix(name, "../") {
		name = name[3:]
		dir = dir[:strings.LastIndex(strings.TrimSuffix(dir, "/"), "/")+1]
	}
	return dir + name
}
