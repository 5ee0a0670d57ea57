package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agenthost/tools"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// An own tool is one that the host makes of what a server has besides tools.
type own struct {
	tool tools.Tool
	run  func(ctx context.Context, s *sdk.ClientSession, args json.RawMessage) (tools.Result, error)
}

// ownTools are those that the configuration of a server wants.
func ownTools(cfg tools.MCPConfig) []own {
	var list []own
	if cfg.Resources {
		list = append(list,
			reading("list_resources", "Lists the resources of this server: what can be read with read_resource, each with its URI, and templates of URIs.", `{}`, listResources),
			reading("read_resource", "Reads a resource of this server.", `{"uri":{"type":"string","description":"as list_resources has it, or made of a template"}}`, readResource))
	}
	if cfg.Prompts {
		list = append(list,
			reading("list_prompts", "Lists the prompts of this server: instructions to follow, each with its name and arguments.", `{}`, listPrompts),
			reading("get_prompt", "Returns a prompt of this server with its arguments filled in.", `{"name":{"type":"string"},"arguments":{"type":"object","additionalProperties":{"type":"string"}}}`, getPrompt))
	}
	return list
}

// reading is an own tool that changes nothing. Its first property is required.
func reading[A any](name, about, properties string, do func(context.Context, *sdk.ClientSession, A) (string, error)) own {
	schema := fmt.Sprintf(`{"type":"object","properties":%s,"additionalProperties":false}`, properties)
	if first, _, some := strings.Cut(strings.TrimPrefix(properties, `{"`), `"`); some {
		schema = fmt.Sprintf(`{"type":"object","properties":%s,"required":[%q],"additionalProperties":false}`, properties, first)
	}
	run := func(ctx context.Context, s *sdk.ClientSession, args json.RawMessage) (tools.Result, error) {
		var given A
		if len(args) > 0 {
			if err := json.Unmarshal(args, &given); err != nil {
				return tools.Result{Text: err.Error(), Failed: true}, nil //nolint:nilerr // it is for the model
			}
		}
		text, err := do(ctx, s, given)
		return tools.Result{Text: text}, err
	}
	return own{tools.Tool{Name: name, Description: about, Schema: json.RawMessage(schema), ReadOnly: true, Rerun: true}, run}
}

// with adds the host's own tools to those of the server, which go before them.
func (l listing) with(list []own) listing {
	l.own = map[string]own{}
	for _, o := range list {
		if !slices.ContainsFunc(l.tools, func(t tools.Tool) bool { return t.Name == o.tool.Name }) {
			l.tools, l.own[o.tool.Name] = append(l.tools, o.tool), o
		}
	}
	return l
}

func listResources(ctx context.Context, s *sdk.ClientSession, _ struct{}) (string, error) {
	var list catalog
	for r, err := range s.Resources(ctx, nil) {
		if err != nil {
			return "", err
		}
		if !list.add(r.URI, r.Name, r.MIMEType, r.Description) {
			return list.text("no resources"), nil
		}
	}
	for r, err := range s.ResourceTemplates(ctx, nil) {
		if refused, ok := errors.AsType[*jsonrpc.Error](err); ok && refused.Code == jsonrpc.CodeMethodNotFound {
			break // it has none
		}
		if err != nil {
			return "", err
		}
		if !list.add("template "+r.URITemplate, r.Name, r.MIMEType, r.Description) {
			break
		}
	}
	return list.text("no resources"), nil
}

func readResource(ctx context.Context, s *sdk.ClientSession, args struct{ URI string }) (string, error) {
	res, err := s.ReadResource(ctx, &sdk.ReadResourceParams{URI: args.URI})
	if err != nil {
		return "", err
	}
	var parts []string
	for _, c := range res.Contents {
		parts = append(parts, resourceWords(c))
	}
	return orNone(parts, "the resource is empty"), nil
}

func listPrompts(ctx context.Context, s *sdk.ClientSession, _ struct{}) (string, error) {
	var list catalog
	for p, err := range s.Prompts(ctx, nil) {
		if err != nil {
			return "", err
		}
		var args []string
		for _, a := range p.Arguments {
			name := a.Name
			if a.Required {
				name += " (required)"
			}
			args = append(args, name)
		}
		if !list.add(p.Name, strings.Join(args, " "), p.Description) {
			break
		}
	}
	return list.text("no prompts"), nil
}

func getPrompt(ctx context.Context, s *sdk.ClientSession, args struct {
	Name      string
	Arguments map[string]string
},
) (string, error) {
	res, err := s.GetPrompt(ctx, &sdk.GetPromptParams{Name: args.Name, Arguments: args.Arguments})
	if err != nil {
		return "", err
	}
	var parts []string
	for _, m := range res.Messages {
		parts = append(parts, fmt.Sprintf("%s: %s", m.Role, words(m.Content)))
	}
	return orNone(parts, "the prompt is empty"), nil
}

// A catalog is a list of what a server has, an entry a line, within mostTools and
// longestText.
type catalog struct {
	lines []string
	size  int
	full  bool
}

// add reports whether there is room for more.
func (c *catalog) add(parts ...string) bool {
	parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
	line := strings.Join(parts, ", ")
	if c.size += len(line); c.size > longestText || len(c.lines) >= mostTools {
		c.full = true
		return false
	}
	c.lines = append(c.lines, line)
	return true
}

func (c *catalog) text(none string) string {
	if c.full {
		c.lines = append(c.lines, "[more of them, not listed]")
	}
	return orNone(c.lines, none)
}

func orNone(lines []string, none string) string {
	if len(lines) == 0 {
		return none
	}
	return strings.Join(lines, "\n")
}
