package mcp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"agenthost/tools"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// and adds tools made of those that a server lists, with its own names and
// without Run. Of two with one name the first counts. A fault is of a tool whose
// schema no model is shown.
func (l listing) and(listed []*sdk.Tool) listing {
	for _, t := range listed {
		taken := slices.ContainsFunc(l.tools, func(have tools.Tool) bool { return have.Name == t.Name })
		if t.Name == "" || taken {
			continue
		}
		if err := tools.CheckName(t.Name); err != nil {
			l.unfit = append(l.unfit, tools.Fault{Tool: t.Name, Err: err})
			l.size += len(t.Name)
			continue
		}
		tool := tools.Tool{Name: t.Name, Description: t.Description}
		if t.InputSchema != nil {
			text, _ := json.Marshal(t.InputSchema) // it was JSON a moment ago
			var err error
			if tool.Schema, err = tools.Offered(text); err != nil {
				l.faults = append(l.faults, tools.Fault{Tool: t.Name, Err: err})
			}
		}
		if a := t.Annotations; a != nil { // that they are true is for the client to believe
			tool.ReadOnly = a.ReadOnlyHint
			destructive := a.DestructiveHint == nil || *a.DestructiveHint
			tool.Rerun = a.ReadOnlyHint || a.IdempotentHint && !destructive
		}
		l.tools = append(l.tools, tool)
		l.size += len(tool.Name) + len(tool.Description) + len(tool.Schema)
	}
	return l
}

// A listing is what a server has, with its own names.
type listing struct {
	tools  []tools.Tool
	faults []tools.Fault  // of schemas that no model is shown; without Source
	unfit  []tools.Fault  // of tools that are left out for their names; without Source
	size   int            // in bytes
	own    map[string]own // those of tools that the server does not have itself
}

// ofServer reports whether it is the server that has the tool, and not the host that
// makes it.
func (l listing) ofServer(tool string) bool {
	_, own := l.own[tool]
	return !own
}

// mostUnfit is how many tools are named that are left out for their names. The rest are counted: a
// server may have any number of such.
const mostUnfit = 10

// allFaults are those that people are told of.
func (l listing) allFaults() []tools.Fault {
	shown := slices.Clone(l.unfit[:min(len(l.unfit), mostUnfit)])
	if more := len(l.unfit) - len(shown); more > 0 {
		last := &shown[len(shown)-1]
		last.Err = fmt.Errorf("%w. Left out for their names are %d more tools", last.Err, more)
	}
	return slices.Concat(l.faults, shown)
}

func (l listing) same(other listing) bool {
	return reflect.DeepEqual(l.tools, other.tools) && slices.EqualFunc(l.allFaults(), other.allFaults(), func(a, b tools.Fault) bool {
		return a.Error() == b.Error()
	})
}

// result puts an answer into words: its text, else its structured content. What
// is neither is described.
func result(res *sdk.CallToolResult) tools.Result {
	var parts []string
	text := false
	for _, c := range res.Content {
		_, isText := c.(*sdk.TextContent)
		text = text || isText
		if part := words(c); part != "" {
			parts = append(parts, part)
		}
	}
	if !text && res.StructuredContent != nil {
		structured, _ := json.Marshal(res.StructuredContent) // it was JSON a moment ago
		parts = append([]string{string(structured)}, parts...)
	}
	return tools.Result{Text: strings.Join(parts, "\n"), Failed: res.IsError}
}

func words(content sdk.Content) string {
	switch c := content.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("[image, %s, %d bytes]", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return fmt.Sprintf("[audio, %s, %d bytes]", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return linkWords(c)
	case *sdk.EmbeddedResource:
		return resourceWords(c.Resource)
	default:
		return fmt.Sprintf("[%T]", content)
	}
}

func linkWords(c *sdk.ResourceLink) string {
	about := []string{"resource " + c.URI}
	for _, more := range []string{c.Name, c.MIMEType, c.Description} {
		if more != "" {
			about = append(about, more)
		}
	}
	return "[" + strings.Join(about, ", ") + "]"
}

func resourceWords(r *sdk.ResourceContents) string {
	switch {
	case r == nil:
		return ""
	case r.Text != "":
		return fmt.Sprintf("[resource %s]\n%s", r.URI, r.Text)
	default:
		return fmt.Sprintf("[resource %s, %s, %d bytes]", r.URI, r.MIMEType, len(r.Blob))
	}
}
