//go:build unix && long

package chaos_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// effectsVar tells the test binary to be an MCP server on its standard input
// and output, and names the file that its tools write their effects to.
const effectsVar = "AGENTHOST_CHAOS_EFFECTS"

// serveEffects is a server with the tools put, which must not run twice, and
// see, which may. An effect is a line of the file; its result comes a little
// later.
func serveEffects(file string) error {
	s := mcp.NewServer(&mcp.Implementation{Name: "effects", Version: "1"}, nil)
	for name, hints := range map[string]*mcp.ToolAnnotations{"put": nil, "see": {ReadOnlyHint: true}} {
		s.AddTool(&mcp.Tool{Name: name, Annotations: hints, InputSchema: map[string]any{"type": "object"}},
			func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				if err := appendLine(file, "notes."+name+" "+compact(req.Params.Arguments)); err != nil {
					return nil, err
				}
				<-time.After(100 * time.Millisecond) // the host may die here
				return done(), nil
			})
	}
	stick := func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		before, err := os.Stat(file)
		if err == nil {
			err = appendLine(file, "notes.stick {}")
		}
		if err == nil && before.Size() == 0 {
			<-ctx.Done()
			err = ctx.Err()
		}
		return done(), err
	}
	// Its first call is not answered, so that its host dies in it.
	s.AddTool(&mcp.Tool{
		Name: "stick", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}, InputSchema: map[string]any{"type": "object"},
	}, stick)
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

func done() *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}
}

// appendLine adds a line in one write, beside other processes.
func appendLine(file, line string) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = fmt.Fprintln(f, line)
	return err
}

// effectSource is the mcp: of a server that is this test, and its file. With trust
// its word counts which of its tools may run twice.
func effectSource(t testing.TB, trust bool) (yaml, file string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "effects")
	writeFile(t, file, "")
	return fmt.Sprintf("mcp: {notes: {command: [%q], env: {%s: %q}, trust: %t}}", self, effectsVar, file, trust), file
}

// readEffects counts the lines of a file.
func readEffects(t testing.TB, file string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for line := range strings.Lines(string(data)) {
		count[strings.TrimSuffix(line, "\n")]++
	}
	return count
}
