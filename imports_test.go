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

// module is the path of this one, which may be renamed.
var module = modulePath()

func modulePath() string {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		panic(err)
	}
	line, _, _ := strings.Cut(string(mod), "\n")
	return strings.TrimPrefix(line, "module ")
}

// arrows says what a package may import of the module's own. A folder within a
// package needs no entry: it may import its parent, bus and fastjson.
var arrows = map[string][]string{
	"cmd/agenthost":             {"host", "config", "bench", "bus", "internal/coldstore", "internal/terminal", "internal/control", "internal/doctor", "internal/eval", "internal/mcplogin", "internal/lockfile"},
	"host":                      {"*"},
	"config":                    {"agents", "bus", "heartbeat", "hooks", "llm", "plugins", "session", "tools", "internal/texts", "internal/yamldoc"},
	"console":                   {"*"},
	"metrics":                   {"*"},
	"agents":                    {"agents/internal/ask", "agents/internal/budget", "agents/internal/clip", "agents/internal/clock", "agents/internal/crash", "agents/internal/lanes", "agents/internal/msgids", "agents/internal/outbox", "agents/internal/stream", "agents/internal/tracing", "agents/internal/workers", "session", "run", "hooks", "tools", "llm", "bus", "internal/texts", "agents/internal/gate", "agents/internal/hookvalue"},
	"agents/internal/ask":       {"bus", "internal/texts", "run", "session"},
	"agents/internal/budget":    {"bus", "llm", "session"},
	"agents/internal/lanes":     {"bus"},
	"agents/internal/msgids":    {"session"},
	"agents/internal/outbox":    {"agents/internal/tracing", "run"},
	"agents/internal/stream":    {"agents/internal/clip", "bus", "llm", "session"},
	"agents/internal/tracing":   {"run"},
	"bench":                     {"bus"},
	"heartbeat":                 {"bus", "internal/texts"},
	"plugins":                   {"bus"},
	"tools":                     {"llm", "internal/shell"},
	"session":                   {"fastjson", "run", "bus"},
	"run":                       {"fastjson", "llm"},
	"hooks":                     {},
	"llm":                       {},
	"bus":                       {"fastjson", "internal/natsserver"},
	"fastjson":                  {},
	"tools/builtin":             {"tools", "internal/diskuse", "internal/sandbox"},
	"internal/hardening":        {"bus", "config", "tools"},
	"internal/diskuse":          {},
	"internal/texts":            {},
	"tools/mcp":                 {"tools", "internal/oauth"},
	"internal/oauth":            {"tools"},
	"internal/sandbox":          {},
	"internal/shell":            {},
	"internal/yamldoc":          {},
	"llm/anthropic":             {"llm", "llm/httpapi", "fastjson"},
	"llm/gemini":                {"llm", "llm/httpapi", "fastjson"},
	"llm/openai":                {"llm", "llm/httpapi", "fastjson"},
	"llm/scripted":              {"llm", "internal/yamldoc"},
	"host/hosttest":             {"bus", "config", "host", "internal/waittest"},
	"internal/build":            {"*"},
	"internal/control":          {"agents", "bus", "bus/microservice", "config", "heartbeat", "llm", "run", "session", "tools", "tools/memory"},
	"internal/doctor":           {"internal/natsserver", "internal/sandbox", "agents", "bus", "config", "hooks", "internal/build", "internal/control", "internal/eval", "internal/hardening", "internal/oauth", "llm", "tools", "tools/builtin"},
	"internal/eval":             {"agents", "bus", "config", "heartbeat", "internal/build", "llm", "run", "session", "tools"},
	"internal/mcplogin":         {"config", "internal/build", "internal/oauth", "tools"},
	"agents/internal/hookvalue": {"llm"},
	"internal/coldstore":        {"internal/lockfile"},
	"internal/lockfile":         {},
	"internal/natsserver":       {"internal/lockfile"},
}

// importers says who may import the packages that a "*" does not cover.
var importers = map[string][]string{
	"config": {
		"host", "host/hosttest", "cmd/agenthost",
		"internal/build", "internal/control", "internal/doctor", "internal/eval", "internal/hardening", "internal/mcplogin",
	},
	"host":          {"cmd/agenthost", "host/hosttest"},
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
		"a part of bus":             {"session", "bus/records", true},
		"a part of bus by another":  {"bus/delivery", "bus/records", true},
		"a part of bus by bus":      {"bus", "bus/records", false},
		"a part of bus by llm":      {"llm", "bus/records", false},
		"fastjson by a child":       {"llm/openai", "fastjson", true},
		"siblings":                  {"llm/openai", "llm/anthropic", false},
		"cousins":                   {"tools/mcp", "plugins/web", false},
		"everything by host":        {"host", "llm/openai", true},
		"config by host":            {"host", "config", true},
		"config by the command":     {"cmd/agenthost", "config", true},
		"config by another":         {"console", "config", false},
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
	if strings.HasPrefix(imported, "bus/") && pkg != "bus" { // who may import bus may import its parts
		imported = "bus"
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
