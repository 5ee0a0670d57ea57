package mcp_test

import (
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
