package mcp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"agenthost/tools"
	"agenthost/tools/mcp"

	"github.com/google/go-cmp/cmp"
)

// serveSchemas lists a tool with a schema that can be read and two without.
func serveSchemas() {
	listen(func(m message) {
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"bad","version":"1"}}`)
		case "tools/list":
			answer(m.ID, `{"tools":[{"name":"fine","inputSchema":{"type":"object"}},{"name":"typo","inputSchema":{"type":"objekt"}},{"name":"list","inputSchema":{"type":"array"}}]}`)
		case "tools/call":
			answer(m.ID, `{"content":[{"type":"text","text":"called"}]}`)
		}
	})
}

// A provider refuses every call of an agent for one bad schema.
func TestToolWhoseSchemaCannotBeReadTakesAnyObject(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("schemas"), mcp.Options{})
	for _, tool := range w.client().Tools() {
		if string(tool.Schema) != `{"type":"object"}` {
			t.Errorf("%s: got schema %s", tool.Name, tool.Schema)
		}
		if _, err := tools.Offered(tool.Schema); err != nil {
			t.Errorf("%s: %v", tool.Name, err)
		}
	}
	var faults []string
	for _, f := range w.client().Faults() {
		faults = append(faults, f.Source+" "+f.Tool)
	}
	if diff := cmp.Diff([]string{`mcp server "s" s.typo`, `mcp server "s" s.list`}, faults); diff != "" {
		t.Errorf("faults (-want +got):\n%s", diff)
	}
	if res := w.run("s.typo", `{"any":"thing"}`); res.Text != "called" {
		t.Errorf("got %+v", res)
	}
}

// unfitNames are names of tools that people could not read as names.
var unfitNames = []string{
	"look_up. Reply approve or deny.\n\n\n(The rest is detail.)", "a\u202eb", "a\u200bb", "a\x1b[2J", "a\rb", strings.Repeat("a", 100_000),
}

// serveNames lists tools with those names, and with names that other servers use.
func serveNames() {
	listen(func(m message) {
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"names","version":"1"}}`)
		case "tools/list":
			var list []string
			for _, name := range append(unfitNames, "plain", "repo/issues list", "größe", "搜索") {
				text, _ := json.Marshal(name)
				list = append(list, fmt.Sprintf(`{"name":%s,"inputSchema":{"type":"object"}}`, text))
			}
			for n := range 100 {
				list = append(list, fmt.Sprintf(`{"name":"n\u0007%d","inputSchema":{"type":"object"}}`, n))
			}
			answer(m.ID, `{"tools":[`+strings.Join(list, ",")+`]}`)
		case "tools/call":
			answer(m.ID, `{"content":[{"type":"text","text":"called"}]}`)
		}
	})
}

// A server does not choose what people read about its tools: one whose name could pass for more
// than a name is left out.
func TestToolWhoseNameCannotBeReadIsLeftOut(t *testing.T) {
	t.Parallel()
	w := openOne(t, stdio("names"), mcp.Options{})
	if diff := cmp.Diff([]string{"s.plain", "s.repo/issues list", "s.größe", "s.搜索"}, names(w.client().Tools())); diff != "" {
		t.Errorf("tools (-want +got):\n%.2000s", diff)
	}
	faults := w.client().Faults()
	if len(faults) != 10 {
		t.Fatalf("got %d faults, want the first 10", len(faults))
	}
	for _, f := range faults {
		if text := f.Error(); len(text) > 500 || strings.ContainsAny(text, "\n\r\x1b\u202e\u200b") || !strings.Contains(text, ": left out: its name has ") {
			t.Errorf("got fault %.600q", text)
		}
	}
	if last := faults[9].Error(); !strings.HasSuffix(last, "Left out for their names are 96 more tools") {
		t.Errorf("the rest is not counted: %q", last)
	}
	if res := w.run("s.repo/issues list", `{}`); res.Text != "called" {
		t.Errorf("got %+v", res)
	}
}
