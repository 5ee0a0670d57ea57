package builtin_test

import (
	"encoding/json"
	"flag"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rs/zerolog"

	"agenthost/internal/sandbox"
	"agenthost/tools"
	"agenthost/tools/builtin"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	flag.Set("test.parallel", "8") // commands mostly wait; the command line goes before
	// Package net sets its resolver up at the first use, and what it makes in a
	// bubble cannot be used outside of that.
	_, _ = net.LookupHost("localhost") // whether it finds it is all the same
	os.Exit(m.Run())
}

// A bench is the tools of an agent and its workspace.
type bench struct {
	dir   string
	tools map[string]tools.Tool
}

func open(t testing.TB, o builtin.Options) bench {
	t.Helper()
	b := bench{filepath.Join(t.TempDir(), "ana"), map[string]tools.Tool{}}
	o.Workspace = func(agent string) string { return filepath.Join(filepath.Dir(b.dir), agent) }
	o.Log = zerolog.New(zerolog.NewTestWriter(t))
	all, err := builtin.New(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range all {
		b.tools[tool.Name] = tool
	}
	return b
}

func (b bench) call(t testing.TB, name, args string) (tools.Result, error) {
	t.Helper()
	return b.tools[name].Run(t.Context(), tools.Call{
		ID: "1", Agent: "ana", Run: "r", Name: name, Args: json.RawMessage(args), Progress: func(string) {},
	})
}

// text is the result of a call that has to work.
func (b bench) text(t testing.TB, name, args string) string {
	t.Helper()
	result, err := b.call(t, name, args)
	if err != nil || result.Failed {
		t.Fatalf("%s %s: got %q, error %v", name, args, result.Text, err)
	}
	return result.Text
}

func (b bench) fails(t testing.TB, name, args, want string) {
	t.Helper()
	result, err := b.call(t, name, args)
	if err == nil {
		t.Fatalf("%s %s: got %q, want error %q", name, args, result.Text, want)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("%s %s: got error %q, want %q", name, args, err, want)
	}
}

func (b bench) put(t testing.TB, name, text string) {
	t.Helper()
	file := filepath.Join(b.dir, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func quoted(t testing.TB, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestToolsSayWhatTheyDo(t *testing.T) {
	type traits struct{ ReadOnly, Rerun, Commands bool }
	got := map[string]traits{}
	for name, tool := range open(t, builtin.Options{}).tools {
		got[name] = traits{tool.ReadOnly, tool.Rerun, tool.Commands != nil}
		if tool.Description == "" || tool.Source != "built in" || !json.Valid(tool.Schema) {
			t.Errorf("%s: got description %q, source %q, schema %s", name, tool.Description, tool.Source, tool.Schema)
		}
	}
	harmless := traits{ReadOnly: true, Rerun: true}
	want := map[string]traits{
		"now": harmless, "ask_human": harmless, "delegate": harmless,
		"read_file": harmless, "list_files": harmless, "search_files": harmless, "fetch_url": harmless,
		"write_file": {}, "edit_file": {}, "run_command": {Commands: true},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("traits (-want +got):\n%s", diff)
	}
}

func TestNoWorkspaceNoFiles(t *testing.T) {
	all, err := builtin.New(builtin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, tool := range all {
		got = append(got, tool.Name)
	}
	if diff := cmp.Diff([]string{"now", "ask_human", "delegate", "fetch_url"}, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

func TestArgumentsThatDoNotFit(t *testing.T) {
	b := open(t, builtin.Options{})
	for name := range b.tools {
		b.fails(t, name, `[]`, name+": decode arguments: ")
	}
}
