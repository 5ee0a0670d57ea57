package mcp_test

import (
	"fmt"
	"strings"
	"testing"

	"agenthost/tools/mcp"
)

// serveEndless lists what it has in pages of 4 MB, as many as a test can wait for.
func serveEndless(tools bool) {
	const pages = 10
	next := map[string]int{}
	page := func(m message, item string) {
		if m.Params.Cursor == "" {
			next[m.Method] = 0
		}
		next[m.Method]++
		long := strings.Repeat("x", 4<<20)
		end := ""
		if next[m.Method] < pages {
			end = fmt.Sprintf(`,"nextCursor":"%d"`, next[m.Method])
		}
		answer(m.ID, fmt.Sprintf(`{%s%s}`, fmt.Sprintf(item, next[m.Method], long), end))
	}
	listen(func(m message) {
		switch m.Method {
		case "initialize":
			answer(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"endless","version":"1"}}`)
		case "tools/list":
			if !tools { // so that it comes up
				answer(m.ID, `{"tools":[{"name":"more","inputSchema":{"type":"object"}}]}`)
				return
			}
			page(m, `"tools":[{"name":"t%d","description":"%s","inputSchema":{"type":"object"}}]`)
		case "resources/list":
			page(m, `"resources":[{"uri":"x:%d","name":"x","description":"%s"}]`)
		case "resources/templates/list":
			page(m, `"resourceTemplates":[{"uriTemplate":"x:%d","name":"x","description":"%s"}]`)
		case "prompts/list":
			page(m, `"prompts":[{"name":"p%d","description":"%s"}]`)
		}
	})
}

// A list comes in pages of up to 16 MiB each: how much of it is kept is for the host to say.
func TestListsAreBounded(t *testing.T) {
	t.Parallel()
	cfg := stdio("endless")
	cfg.Resources, cfg.Prompts = true, true
	w := openOne(t, cfg, mcp.Options{})
	for _, tool := range []string{"s.list_resources", "s.list_prompts"} {
		if res := w.run(tool, `{}`); len(res.Text) > 2<<20 || !strings.HasSuffix(res.Text, "[more of them, not listed]") {
			t.Errorf("%s: got %d bytes", tool, len(res.Text))
		}
	}
}
