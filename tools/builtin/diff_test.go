package builtin_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/tools"
	"agenthost/tools/builtin"
)

func TestEditIsShownAsADiff(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ file, args, want string }{
		"in the middle": {"a\nb\nc\nd\ne\nf\ng\nh\n", `{"path":"n.txt","old":"e","new":"E"}`, "@@ -2,7 +2,7 @@\n b\n c\n d\n-e\n+E\n f\n g\n h"},
		"twice":         {"x\nsame\nx\n", `{"path":"n.txt","old":"x","new":"y","all":true}`, "@@ -1,3 +1,3 @@\n-x\n+y\n same\n-x\n+y"},
		"more lines":    {"a\n", `{"path":"n.txt","old":"a","new":"a\nb"}`, "@@ -1,1 +1,2 @@\n a\n+b"},
		"no line feed":  {"a", `{"path":"n.txt","old":"a","new":"b"}`, "@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file"},
		"no such text":  {"q\n", `{"path":"n.txt","old":"a\n","new":"b\n"}`, "@@ -1,1 +1,1 @@\n-a\n+b"},
		"no such file":  {"", `{"path":"other.txt","old":"a\n","new":""}`, "@@ -1,1 +1,0 @@\n-a"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "n.txt"), []byte(tt.file), 0o600); err != nil {
				t.Fatal(err)
			}
			edit := previewed(t, dir, "edit_file")
			p := edit.Preview(t.Context(), tools.Call{Agent: "ana", Args: json.RawMessage(tt.args)})
			if p.Detail != tt.want {
				t.Errorf("shown\n%s\nwant\n%s", p.Detail, tt.want)
			}
		})
	}
}

// A large change is shown as well, in no more time than it takes to print.
func TestLargeDiff(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	args, err := json.Marshal(map[string]string{"path": "n.txt", "old": strings.Repeat("a\n", 50_000), "new": strings.Repeat("b\n", 50_000)})
	if err != nil {
		t.Fatal(err)
	}
	p := previewed(t, dir, "edit_file").Preview(t.Context(), tools.Call{Agent: "ana", Args: args})
	if n := strings.Count(p.Detail, "\n"); n != 100_000 {
		t.Errorf("%d lines, want the old and the new ones and a head", n)
	}
}

func previewed(t *testing.T, dir, name string) tools.Tool {
	t.Helper()
	list, err := builtin.New(builtin.Options{Workspace: func(string) string { return dir }})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range list {
		if tool.Name == name {
			return tool
		}
	}
	t.Fatalf("there is no tool %s", name)
	return tools.Tool{}
}
