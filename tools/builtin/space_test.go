package builtin_test

import (
	"fmt"
	"strings"
	"testing"

	"agenthost/tools/builtin"
)

// small is 8 MB for each agent.
var small = builtin.Options{Space: func(string) int64 { return 8 << 20 }}

func writing(t *testing.T, path string, megabytes int) string {
	t.Helper()
	return quoted(t, map[string]string{"path": path, "text": strings.Repeat("x", megabytes<<20)})
}

const fullWorkspace = "of 8.0 MB; delete files that are not needed, or raise limits.workspace_mb"

func TestWriteFileIntoAFullWorkspace(t *testing.T) {
	t.Parallel()
	b := open(t, small)
	b.text(t, "write_file", writing(t, "a", 5))
	b.fails(t, "write_file", writing(t, "b", 5), `write "b": 5242880 bytes do not fit: the workspace takes 5.`)
	b.fails(t, "write_file", writing(t, "b", 5), fullWorkspace)
	b.text(t, "write_file", writing(t, "b", 2))
	b.fails(t, "edit_file", quoted(t, map[string]any{"path": "b", "old": "x", "new": "xx", "all": true}), fullWorkspace)
	b.text(t, "write_file", writing(t, "a", 4)) // it gets smaller
	b.text(t, "edit_file", quoted(t, map[string]any{"path": "b", "old": strings.Repeat("x", 1<<20), "new": "y", "all": true}))
	b.text(t, "write_file", writing(t, "c", 3))
}

// Empty files take room as well.
func TestWriteFileEndsTheNumberOfFiles(t *testing.T) {
	t.Parallel()
	b := open(t, builtin.Options{Space: func(string) int64 { return 256 << 10 }})
	for i := range 100 {
		if _, err := b.call(t, "write_file", fmt.Sprintf(`{"path":"%d","text":"x"}`, i)); err != nil {
			if i < 10 || !strings.Contains(err.Error(), "of 0.2 MB") {
				t.Errorf("file %d: got %v", i, err)
			}
			return
		}
	}
	t.Error("got 100 files into 256 kB")
}

func TestSpaceOfAWorkspaceByDefault(t *testing.T) {
	t.Parallel()
	b := open(t, builtin.Options{})
	b.text(t, "write_file", writing(t, "a", 9))
	b.text(t, "write_file", writing(t, "b", 9))
}
