package profile

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"agenthost/bus"
	"agenthost/tools"
)

const clientSource = "client"

// WithClientTools is p with tools that the client of a door runs itself. A name that the
// agent has for a tool of its own stays that one's.
func (p *Profile) WithClientTools(list []bus.ClientTool) *Profile {
	if len(list) == 0 {
		return p
	}
	box := *p.Tools
	box.Own = slices.Clone(box.Own)
	taken := map[string]bool{}
	for _, d := range box.Defs() {
		taken[modelName(d.Name)] = true
	}
	for _, t := range list {
		if !taken[modelName(t.Name)] {
			taken[modelName(t.Name)] = true
			box.Own = append(box.Own, clientTool(t))
		}
	}
	changed := &Profile{
		Config: p.Config, Bindings: p.Bindings, System: p.System, Chain: p.Chain, Models: p.Models, Tools: &box,
		bounds: p.bounds, Bound: p.Bound, Behavior: p.Behavior, Texts: p.Texts,
	}
	changed.bounds.Safe = box.safe
	changed.Overhead.Store(p.Overhead.Load())
	return changed
}

// modelName is a name as providers may show it to a model.
func modelName(name string) string { return strings.ReplaceAll(name, ".", "_") }

// clientTool waits for the client's result as for the answer to a question.
func clientTool(t bus.ClientTool) tools.Tool {
	return tools.Tool{
		Name: t.Name, Description: t.Description, Schema: t.Parameters, Source: clientSource, ReadOnly: true, Rerun: true, Asks: true,
		Run: func(_ context.Context, c tools.Call) (tools.Result, error) {
			return tools.Result{Wait: &tools.Wait{Question: true, Prompt: c.Name + " " + string(c.Args), Context: json.RawMessage(tools.ForClient)}}, nil
		},
	}
}
