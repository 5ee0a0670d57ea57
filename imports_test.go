package agenthost_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/imports.txt")

const module = "agenthost"

// arrows says what a package may import of the module's own. A folder within a
// package needs no entry: it may import its parent, bus and fastjson.
var arrows = map[string][]string{
	"cmd/agenthost":      {"host", "client", "config", "bench", "bus", "internal/chat", "internal/cli", "internal/coldstore", "internal/starter", "internal/terminal"},
	"client":             {"agents", "bus", "config", "heartbeat", "llm", "run", "session", "tools", "tools/memory"},
	"internal/cli":       {"bus", "client", "config", "internal/terminal"},
	"internal/chat":      {"bus", "client", "internal/cli", "internal/terminal"},
	"examples":           {"agents", "config", "host", "llm"},
	"host":               {"*"},
	"config":             {"agents", "bus", "heartbeat", "hooks", "llm", "plugins", "session", "tools", "internal/texts"},
	"console":            {"*"},
	"metrics":            {"*"},
	"agents":             {"session", "run", "hooks", "tools", "llm", "bus", "internal/texts"},
	"bench":              {"bus"},
	"heartbeat":          {"bus"},
	"plugins":            {"bus"},
	"tools":              {"llm"},
	"session":            {"fastjson", "run", "bus"},
	"run":                {"fastjson", "llm"},
	"hooks":              {},
	"llm":                {},
	"bus":                {"fastjson"},
	"fastjson":           {},
	"tools/builtin":      {"tools", "internal/diskuse"},
	"internal/hardening": {"bus", "config", "tools"},
	"internal/diskuse":   {},
	"internal/texts":     {},
	"internal/starter":   {},
	"tools/mcp":          {"tools", "internal/oauth"},
	"internal/oauth":     {"tools"},
}

// importers says who may import the packages that a "*" does not cover.
var importers = map[string][]string{
	"config":        {"host", "client", "cmd/agenthost", "examples", "internal/cli", "internal/hardening"},
	"host":          {"cmd/agenthost", "examples"},
	"cmd/agenthost": {},
}

// The drawing in docs/imports.txt shows a new arrow in review.
func TestImportsAreAsDrawn(t *testing.T) {
	const file = "docs/imports.txt"
	graph := importGraph(t)
	var drawing strings.Builder
	for _, pkg := range slices.Sorted(maps.Keys(graph)) {
		fmt.Fprintln(&drawing, strings.TrimSpace(pkg+": "+strings.Join(graph[pkg], " ")))
	}
	if *update {
		if err := os.WriteFile(file, []byte(drawing.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), drawing.String()); diff != "" {
		t.Errorf("%s is not what the code imports; if that is meant: go test . -update (-drawn +code):\n%s", file, diff)
	}
}

func TestArrowsPointOneWay(t *testing.T) {
	graph := importGraph(t)
	for _, pkg := range slices.Sorted(maps.Keys(graph)) {
		for _, imported := range graph[pkg] {
			if !mayImport(pkg, imported) {
				t.Errorf("%s imports %s", pkg, imported)
			}
		}
	}
}

func TestMayImport(t *testing.T) {
	tests := map[string]struct {
		pkg, imported string
		want          bool
	}{
		"listed":                    {"session", "run", true},
		"not listed":                {"session", "llm", false},
		"upwards":                   {"llm", "run", false},
		"parent":                    {"llm/openai", "llm", true},
		"bus by a child":            {"plugins/web", "bus", true},
		"fastjson by a child":       {"llm/openai", "fastjson", true},
		"siblings":                  {"llm/openai", "llm/anthropic", false},
		"cousins":                   {"tools/mcp", "plugins/web", false},
		"everything by host":        {"host", "llm/openai", true},
		"config by host":            {"host", "config", true},
		"config by the command":     {"cmd/agenthost", "config", true},
		"config by another":         {"console", "config", false},
		"host by an example":        {"examples/any", "host", true},
		"bus by an example":         {"examples/any", "bus", false},
		"the command by host":       {"host", "cmd/agenthost", false},
		"a test server by a suite":  {"plugins/plugintest", "bus/bustest", true},
		"a test server by the rest": {"host", "bus/bustest", false},
		"a package nobody drew":     {"util", "bus", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := mayImport(tt.pkg, tt.imported); got != tt.want {
				t.Errorf("%s imports %s: got %v, want %v", tt.pkg, tt.imported, got, tt.want)
			}
		})
	}
}

func mayImport(pkg, imported string) bool {
	if strings.HasPrefix(pkg, "examples/") { // each is a program of its own
		pkg = "examples"
	}
	if strings.HasSuffix(imported, "test") {
		return strings.HasSuffix(pkg, "test")
	}
	if only, ok := importers[imported]; ok && !slices.Contains(only, pkg) {
		return false
	}
	allowed, ok := arrows[pkg]
	if parent := path.Dir(pkg); !ok && parent != "." {
		allowed = []string{parent, "bus", "fastjson"}
	}
	return slices.Contains(allowed, imported) || slices.Contains(allowed, "*")
}

// importGraph is what each package of the module imports of the others, tests
// left out; both without the module's name.
func importGraph(t *testing.T) map[string][]string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=Dir,ImportPath,Imports", "./...").Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			t.Fatalf("go list: %s", exit.Stderr)
		}
		t.Fatal(err)
	}
	graph := map[string][]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); dec.More(); {
		var pkg struct {
			Dir, ImportPath string
			Imports         []string
		}
		if err := dec.Decode(&pkg); err != nil {
			t.Fatal(err)
		}
		os.ReadDir(pkg.Dir) // so that go test knows that a cached result is out of date
		if name, ok := strings.CutPrefix(pkg.ImportPath, module+"/"); ok {
			graph[name] = ours(pkg.Imports)
		}
	}
	return graph
}

// ours are those of imports that belong to the module.
func ours(imports []string) []string {
	var names []string
	for _, imported := range imports {
		if name, ok := strings.CutPrefix(imported, module+"/"); ok {
			names = append(names, name)
		}
	}
	return names
}
