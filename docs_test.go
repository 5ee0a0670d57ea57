package agenthost_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/client"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/hooks"
	"agenthost/internal/doctor"
	"agenthost/llm/scripted"
	machine "agenthost/run"
)

// A fence is a block of code in a page. Its info is what stands behind the
// opening marks: the language, then what the block is.
type fence struct {
	page   string
	line   int
	info   string
	indent string
	text   string
}

func (f fence) String() string { return fmt.Sprintf("%s:%d", f.page, f.line) }

// pages are the Markdown files of the repository.
func pages(t *testing.T) []string {
	t.Helper()
	files := []string{"README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"}
	err := filepath.WalkDir("docs", func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fences are the blocks of all pages with this info; there must be some.
func fences(t *testing.T, info string) []fence {
	t.Helper()
	var found []fence
	for _, page := range pages(t) {
		var open *fence
		for n, line := range strings.Split(read(t, page), "\n") {
			if open != nil {
				line = strings.TrimPrefix(line, open.indent)
			}
			mark, isMark := strings.CutPrefix(strings.TrimLeft(line, " "), "```")
			switch {
			case open == nil && isMark:
				indent := line[:len(line)-len(strings.TrimLeft(line, " "))] // of a list that it is in
				open = &fence{page: page, line: n + 1, info: mark, indent: indent}
			case isMark:
				if open.info == info {
					found = append(found, *open)
				}
				open = nil
			case open != nil:
				open.text += line + "\n"
			}
		}
		if open != nil {
			t.Errorf("%v: the block is not closed", open)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no page has a block with %q", info)
	}
	return found
}

func TestConfigsInDocs(t *testing.T) {
	for _, key := range []string{
		"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TELEGRAM_TOKEN", "DISCORD_TOKEN", "SLACK_APP_TOKEN", "SLACK_BOT_TOKEN",
		"MATRIX_PASSWORD", "IRC_PASSWORD", "MAIL_PASSWORD",
	} {
		t.Setenv(key, "key")
	}
	folder := t.TempDir()
	for _, name := range []string{"host.creds", "play.yaml", "mqtt.conf"} { // that they name
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range fences(t, "yaml agenthost.yaml") {
		if _, err := config.Parse(filepath.Join(folder, "agenthost.yaml"), []byte(f.text)); err != nil {
			t.Errorf("%v: %v", f, err)
		}
	}
}

func TestScriptsInDocs(t *testing.T) {
	for _, f := range fences(t, "yaml script") {
		if _, err := scripted.Parse([]byte(f.text)); err != nil {
			t.Errorf("%v: %v", f, err)
		}
	}
}

func TestEnvelopesInDocs(t *testing.T) {
	kinds := map[string]func() any{
		"inbound":  func() any { return new(bus.Inbound) },
		"outbound": func() any { return new(bus.Outbound) },
		"route":    func() any { return new(bus.Route) },
		"dead":     func() any { return new(bus.DeadLetter) },
		"chunk":    func() any { return new(agents.Chunk) },
		"status":   func() any { return new(client.Status) },
		"report":   func() any { return new(doctor.Report) },
		"call":     func() any { return new(hooks.Call) },
		"outcome":  func() any { return new(hooks.Outcome) },
		"acts":     func() any { return new(machine.Event) },
		"beat":     func() any { return new(heartbeat.Beat) },
		"note":     func() any { return new(client.Note) },
	}
	for kind, empty := range kinds {
		for _, f := range fences(t, "json "+kind) {
			dec := json.NewDecoder(strings.NewReader(f.text))
			dec.DisallowUnknownFields()
			if err := dec.Decode(empty()); err != nil {
				t.Errorf("%v: %v", f, err)
			}
		}
	}
}

// The host itself must take the examples, too.
func TestMessagesInDocsAreAccepted(t *testing.T) {
	for _, f := range fences(t, "json inbound") {
		if _, err := bus.DecodeInbound([]byte(f.text)); err != nil {
			t.Errorf("%v: %v", f, err)
		}
	}
	for _, f := range fences(t, "json route") {
		if _, err := bus.DecodeRoute([]byte(f.text)); err != nil {
			t.Errorf("%v: %v", f, err)
		}
	}
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	proof    = regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w+)`")
	testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Z]\w+)\(`)
	head     = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notRef   = regexp.MustCompile(`[^a-z0-9 _-]`)
)

func TestLinksInDocs(t *testing.T) {
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			path, anchor, _ := strings.Cut(m[1], "#")
			target := filepath.Join(filepath.Dir(page), path)
			if path == "" {
				target = page
			}
			if _, err := os.Stat(target); errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: there is no %s", page, target)
			} else if anchor != "" && !slices.Contains(anchors(read(t, target)), anchor) {
				t.Errorf("%s: %s has no heading #%s", page, target, anchor)
			}
		}
	}
}

// anchors are the headings of a page as links name them.
func anchors(text string) []string {
	var names []string
	for _, m := range head.FindAllStringSubmatch(text, -1) {
		names = append(names, strings.ReplaceAll(notRef.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return names
}

// Go code in a page is an excerpt of the file behind the word go, which is
// compiled and tested where it is.
func TestExcerptsInDocs(t *testing.T) {
	for _, file := range []string{
		"examples/greeter/main.go", "agents/example_test.go", "client/example_test.go",
		"examples/shop/main.go", "examples/shop/tool.go", "examples/shop/provider.go", "examples/shop/hook.go",
	} {
		source := read(t, file)
		for _, f := range fences(t, "go "+file) {
			if !strings.Contains(source, f.text) {
				t.Errorf("%v: it is not in %s", f, file)
			}
		}
	}
}

// A test that a page names as a proof must be there, and run by the command beside it.
func TestProofsInDocs(t *testing.T) {
	const short, long = 1, 2
	tests := map[string]int{}
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		source := read(t, path)
		kind := short
		if constraint, _, _ := strings.Cut(source, "\n"); strings.HasPrefix(constraint, "//go:build ") && strings.Contains(constraint, "long") {
			kind = long
		}
		for _, m := range testFunc.FindAllStringSubmatch(source, -1) {
			tests[m[1]] = max(tests[m[1]], kind)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages(t) {
		for line := range strings.Lines(read(t, page)) {
			for _, m := range proof.FindAllStringSubmatch(line, -1) {
				switch {
				case tests[m[1]] == 0:
					t.Errorf("%s: there is no %s", page, m[1])
				case tests[m[1]] == long && strings.Contains(line, "go test ") && !strings.Contains(line, "long"):
					t.Errorf("%s: %s has the build tag long, the command beside it does not", page, m[1])
				}
			}
		}
	}
}
