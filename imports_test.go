package agenthost_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite docs/imports.txt")

// module is the path of this one, which may be renamed. Other programs than the tests
// run elsewhere.
var module = sync.OnceValue(modulePath)

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
	"cmd/agenthost":                {"host", "config", "bench", "bus", "internal/natsserver", "internal/terminal", "internal/doctor", "internal/eval", "internal/mcplogin", "internal/lockfile", "internal/memlimit", "internal/natscontext", "client", "internal/atomicfile", "internal/chat", "internal/cli", "internal/commands", "internal/starter", "doors", "doors/acp", "doors/mcp"},
	"host":                         {"*"},
	"config":                       {"agents", "bus", "heartbeat", "hooks", "llm", "plugins/settings", "session", "tools", "internal/httpauth", "internal/identity", "internal/texts", "internal/yamldoc"},
	"console":                      {"*"},
	"doors":                        {"bus", "client", "internal/httpauth", "run", "session"},
	"doors/acp":                    {"bus", "client", "doors", "llm", "run"},
	"doors/mcp":                    {"bus", "client", "doors", "internal/httpauth"},
	"doors/openai":                 {"bus", "bus/filestore", "bus/records", "client", "doors", "internal/httpauth", "llm", "run", "tools"},
	"doors/a2a":                    {"bus", "client", "doors", "llm", "run"},
	"doors/agentprotocol":          {"bus", "doors", "llm"},
	"doors/doorstest":              {"bus", "client", "config", "host", "host/hosttest", "internal/freeport", "run"},
	"metrics":                      {"*"},
	"agents":                       {"agents/internal/ask", "agents/internal/budget", "agents/internal/stream", "session", "run", "tools", "llm", "bus"},
	"agents/engine":                {"agents", "internal/erasure", "agents/internal/behaviors", "agents/internal/budget", "agents/internal/conversation", "agents/internal/gate", "agents/internal/inflight", "agents/internal/intake", "agents/internal/lanes", "agents/internal/liveask", "agents/internal/message", "agents/internal/modelcall", "agents/internal/partitions", "agents/internal/parts", "agents/internal/profile", "bus", "internal/pairing", "internal/pause", "internal/texts", "llm", "session", "session/inmemory", "tools"},
	"agents/internal/answers":      {"agents", "agents/internal/ask", "agents/internal/inflight", "agents/internal/message", "agents/internal/profile", "bus", "internal/texts", "llm", "run", "tools", "session"},
	"agents/internal/ask":          {"bus", "internal/texts", "run", "session"},
	"agents/internal/behaviors":    {"agents", "agents/internal/inflight", "agents/internal/message", "llm", "run"},
	"agents/internal/budget":       {"bus", "llm", "session"},
	"agents/internal/conversation": {"agents", "agents/internal/answers", "agents/internal/ask", "agents/internal/gate", "agents/internal/hookvalue", "agents/internal/inflight", "agents/internal/intake", "agents/internal/liveask", "agents/internal/mailbox", "agents/internal/message", "agents/internal/outbox", "agents/internal/parts", "agents/internal/passon", "agents/internal/replies", "agents/internal/runner", "agents/internal/takeover", "agents/internal/tracing", "bus", "hooks", "internal/crash", "internal/texts", "llm", "run", "session", "session/inmemory", "tools"},
	"agents/internal/inflight":     {"agents/internal/ask", "agents/internal/budget", "agents/internal/clip", "agents/internal/hookvalue", "agents/internal/message", "agents/internal/parts", "agents/internal/profile", "agents/internal/tracing", "bus", "hooks", "internal/texts", "llm", "run", "session", "tools"},
	"agents/internal/intake":       {"agents", "agents/internal/senders", "internal/pairing", "agents/internal/ask", "agents/internal/clip", "agents/internal/lanes", "agents/internal/message", "agents/internal/sharedids", "agents/internal/parts", "agents/internal/profile", "agents/internal/tracing", "bus", "internal/texts", "llm", "run", "session"},
	"agents/internal/lanes":        {"agents/internal/finishing", "bus", "internal/placement"},
	"agents/internal/liveask":      {"agents", "agents/internal/answers", "agents/internal/ask", "agents/internal/clock", "agents/internal/inflight", "agents/internal/message", "agents/internal/outbox", "bus", "hooks", "internal/texts", "run", "tools"},
	"agents/internal/mailbox":      {"agents/internal/message", "agents/internal/profile", "run"},
	"agents/internal/message":      {"agents", "agents/internal/tracing", "bus", "internal/erasure", "llm", "run", "session"},
	"agents/internal/modelcall":    {"agents", "agents/internal/ask", "agents/internal/budget", "agents/internal/hookvalue", "agents/internal/inflight", "agents/internal/profile", "agents/internal/stream", "bus", "hooks", "llm", "run", "session"},
	"agents/internal/sharedids":    {"session"},
	"agents/internal/outbox":       {"agents/internal/tracing", "run"},
	"agents/internal/parts":        {"agents", "internal/erasure", "agents/internal/finishing", "internal/pause", "internal/pairing", "agents/internal/ask", "agents/internal/gate", "agents/internal/lanes", "agents/internal/message", "agents/internal/sharedids", "agents/internal/profile", "agents/internal/tracing", "agents/internal/workers", "bus", "hooks", "internal/texts", "llm", "run", "session", "internal/identity"},
	"agents/internal/partitions":   {"agents/internal/inflight", "agents/internal/lanes", "agents/internal/message", "bus", "session"},
	"agents/internal/passon":       {"agents", "agents/internal/answers", "agents/internal/ask", "agents/internal/inflight", "agents/internal/message", "agents/internal/profile", "agents/internal/replies", "agents/internal/tracing", "agents/internal/unsent", "bus", "internal/crash", "run", "session"},
	"agents/internal/profile":      {"agents", "agents/internal/budget", "bus", "internal/texts", "llm", "run", "tools", "llm/echo"},
	"agents/internal/replies":      {"agents/internal/inflight", "agents/internal/message", "agents/internal/outbox", "agents/internal/tracing", "agents/internal/unsent", "bus", "internal/crash", "run", "session"},
	"agents/internal/runner":       {"agents", "agents/internal/answers", "agents/internal/ask", "agents/internal/behaviors", "agents/internal/hookvalue", "agents/internal/inflight", "agents/internal/intake", "agents/internal/liveask", "agents/internal/message", "agents/internal/modelcall", "agents/internal/outbox", "agents/internal/replies", "agents/internal/toolcall", "agents/internal/tracing", "bus", "hooks", "internal/crash", "llm", "run", "session"},
	"agents/internal/stream":       {"agents/internal/clip", "bus", "llm", "session"},
	"agents/internal/takeover":     {"agents/internal/answers", "agents/internal/ask", "agents/internal/inflight", "agents/internal/message", "bus", "run", "session"},
	"agents/internal/toolcall":     {"agents", "agents/internal/answers", "agents/internal/ask", "agents/internal/clock", "internal/crash", "agents/internal/hookvalue", "agents/internal/inflight", "agents/internal/profile", "bus", "hooks", "llm", "run", "session", "tools"},
	"agents/internal/tracing":      {"run"},
	"agents/internal/unsent":       {"agents/internal/inflight", "agents/internal/outbox", "agents/internal/tracing", "bus", "run"},
	"bench":                        {"bus", "internal/natsserver"},
	"heartbeat":                    {"bus", "internal/texts"},
	"plugins":                      {"agents", "bus", "client", "internal/crash", "plugins/internal/markdown", "plugins/internal/split", "plugins/settings", "session"},
	"plugins/plugintest":           {"bus", "plugins", "plugins/settings", "session"},
	"plugins/email":                {"plugins", "plugins/internal/markdown", "plugins/settings"},
	"plugins/irc":                  {"plugins", "plugins/internal/markdown", "plugins/settings"},
	"plugins/settings":             {},
	"plugins/exec":                 {"internal/childprocess", "plugins", "plugins/settings"},
	"plugins/webhook":              {"bus", "internal/httptransport", "plugins", "plugins/settings"},
	"plugins/web":                  {"bus", "client", "internal/httpauth", "internal/webfile", "plugins/settings", "run", "session", "tools"},
	"plugins/internal/interop":     {"internal/interop"},
	"internal/console":             {"internal/webfile"},
	"plugins/matrix":               {"bus", "internal/httptransport", "plugins", "plugins/internal/markdown", "plugins/settings"},
	"plugins/slack":                {"internal/httptransport", "plugins", "plugins/internal/markdown", "plugins/settings"},
	"tools":                        {"llm", "internal/regexsize", "internal/shell"},
	"session":                      {"fastjson", "llm", "run", "bus"},
	"run":                          {"fastjson", "llm"},
	"hooks":                        {},
	"llm":                          {},
	"bus":                          {"fastjson"},
	"bus/bustest":                  {"bus", "internal/freeport", "internal/natsserver"},
	"fastjson":                     {},
	"tools/builtin":                {"tools", "internal/diskuse", "internal/regexsize", "internal/sandbox"},
	"internal/hardening":           {"bus", "config", "tools"},
	"internal/diskuse":             {},
	"internal/httptransport":       {},
	"internal/regexsize":           {},
	"internal/texts":               {},
	"tools/mcp":                    {"tools", "internal/childprocess", "internal/httptransport", "internal/mcpoauth"},
	"internal/httpauth":            {"bus"},
	"internal/mcpoauth":            {"internal/atomicfile", "tools"},
	"internal/sandbox":             {},
	"internal/shell":               {},
	"internal/yamldoc":             {},
	"llm/anthropic":                {"llm", "llm/httpapi", "fastjson"},
	"llm/gemini":                   {"llm", "llm/httpapi", "fastjson"},
	"llm/openai":                   {"llm", "llm/httpapi", "fastjson"},
	"llm/scripted":                 {"llm", "internal/yamldoc"},
	"host/hosttest":                {"bus", "config", "host", "internal/waittest"},
	"internal/build":               {"*"},
	"internal/control":             {"internal/erasure", "agents", "agents/engine", "bus", "bus/microservice", "client", "internal/audit", "internal/eval", "internal/tokens", "internal/why", "llm", "session"},
	"internal/httpapi":             {"bus", "client", "internal/control", "internal/httpauth", "run", "session"},
	"internal/audit":               {"bus", "run"},
	"internal/telemetry":           {"bus", "internal/httptransport", "llm", "run", "session"},
	"internal/tokens":              {"bus", "internal/httpauth"},
	"internal/doctor":              {"internal/httptransport", "internal/natsserver", "internal/sandbox", "agents", "agents/engine", "bus", "config", "hooks", "internal/build", "client", "internal/eval", "internal/hardening", "internal/mcpoauth", "llm", "tools", "tools/builtin", "plugins", "plugins/settings"},
	"internal/eval":                {"agents", "agents/engine", "bus", "config", "heartbeat", "internal/build", "llm", "run", "session", "tools"},
	"internal/mcplogin":            {"config", "internal/build", "internal/mcpoauth", "tools"},
	"agents/internal/hookvalue":    {"fastjson", "hooks", "llm"},
	"internal/coldstore":           {"internal/lockfile"},
	"internal/childprocess":        {},
	"internal/freeport":            {},
	"internal/lockfile":            {},
	"internal/atomicfile":          {},
	"internal/natsserver":          {"bus", "internal/lockfile"},
	"internal/pairing":             {"bus", "session"},
	"internal/pause":               {"bus"},
	"internal/identity":            {"session"},
	"internal/why":                 {"bus", "client", "internal/pause", "plugins", "run", "session"},
	"internal/erasure":             {"bus", "session"},
	"internal/erase":               {"bus", "internal/erasure", "heartbeat", "internal/pairing", "internal/pause", "llm", "run", "session", "tools/memory"},
	"client":                       {"internal/erase", "internal/erasure", "internal/pause", "internal/pairing", "agents", "bus", "config", "heartbeat", "llm", "run", "session", "tools", "tools/memory", "internal/audit", "internal/httpauth", "internal/tokens"},
	"internal/cli":                 {"bus", "client", "config", "internal/terminal"},
	"internal/scrub":               {"bus", "session"},
	"internal/probe":               {"bus", "client", "run", "session"},
	"internal/commands":            {"bus", "client", "internal/backup", "internal/cli", "internal/coldstore", "internal/commands/sessions", "internal/eval", "internal/natsserver", "internal/probe", "internal/scrub", "internal/terminal", "internal/why"},
	"internal/commands/sessions":   {"bus", "client", "internal/cli", "internal/coldstore", "internal/eval", "internal/terminal"},
	"internal/chat":                {"bus", "client", "config", "host", "internal/cli", "internal/lockfile", "internal/terminal"},
	"internal/memlimit":            {},
	"internal/natscontext":         {"bus", "internal/atomicfile"},
	"internal/starter":             {},

	"internal/agenthost-chaos":          {"agents", "bus", "internal/agenthost-chaos/check", "internal/agenthost-chaos/clock", "internal/agenthost-chaos/history", "internal/agenthost-chaos/load", "internal/agenthost-chaos/natsnode", "internal/agenthost-chaos/process", "internal/agenthost-chaos/proxy"},
	"internal/agenthost-chaos/check":    {"bus", "llm", "run", "session"},
	"internal/agenthost-chaos/clock":    {"internal/overlay"},
	"internal/agenthost-chaos/history":  {},
	"internal/agenthost-chaos/load":     {"bus", "internal/agenthost-chaos/check"},
	"internal/agenthost-chaos/natsnode": {},
	"internal/agenthost-chaos/process":  {},
	"internal/agenthost-chaos/proxy":    {},

	"internal/simulation":         {"agents", "agents/engine", "bus", "heartbeat", "hooks", "internal/agenthost-chaos/check", "internal/simulation/memnats", "llm", "session", "tools"},
	"internal/simulation/memnats": {},
	"internal/simulation/overlay": {"internal/overlay"},
	"internal/overlay":            {},

	"plugins/telegram":           {"plugins", "internal/httptransport", "plugins/internal/markdown", "plugins/settings"},
	"plugins/discord":            {"plugins", "internal/httptransport", "plugins/internal/markdown", "plugins/settings"},
	"plugins/irc/irctest":        {"internal/freeport", "internal/interop", "internal/waittest"},
	"plugins/email/emailtest":    {"internal/freeport", "internal/interop", "internal/waittest"},
	"plugins/matrix/matrixtest":  {"internal/interop", "internal/waittest"},
	"plugins/internal/inboxtest": {"bus", "plugins", "plugins/settings"},
}

// importers says who may import the packages that a "*" does not cover.
var importers = map[string][]string{
	"config":        {"host", "host/hosttest", "cmd/agenthost", "client", "doors/doorstest", "internal/build", "internal/cli", "internal/doctor", "internal/eval", "internal/hardening", "internal/mcplogin", "internal/chat"},
	"host":          {"cmd/agenthost", "host/hosttest", "doors/doorstest", "internal/chat", "host", "client", "internal/build", "internal/cli", "internal/doctor", "internal/eval", "internal/hardening", "internal/mcplogin"},
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

// A program that only talks to a fleet is not compiled with a NATS server.
func TestNoServerInAClient(t *testing.T) {
	all := packages(t)
	for _, pkg := range []string{"agents", "bus", "client", "hooks", "llm", "plugins", "tools"} {
		listed, ok := all[pkg]
		if !ok || slices.ContainsFunc(listed.Deps, func(dep string) bool { return strings.Contains(dep, "nats-server/v2/server") }) {
			t.Errorf("%s: want it without the NATS server, got %s", pkg, listed.Deps)
		}
	}
}

func TestMayImport(t *testing.T) {
	tests := map[string]struct {
		pkg, imported string
		want          bool
	}{
		"listed":                    {"session", "run", true},
		"not listed":                {"session", "hooks", false},
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
	graph := map[string][]string{}
	for name, pkg := range packages(t) {
		graph[name] = ours(pkg.Imports)
	}
	return graph
}

// ours are those of imports that belong to the module.
func ours(imports []string) []string {
	var names []string
	for _, imported := range imports {
		if name, ok := strings.CutPrefix(imported, module()+"/"); ok {
			names = append(names, name)
		}
	}
	return names
}
