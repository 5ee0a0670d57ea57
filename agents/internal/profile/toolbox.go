package profile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"agenthost/agents"
	"agenthost/llm"
	"agenthost/tools"
)

// A Toolbox is what an agent may use, and how freely.
type Toolbox struct {
	Registry  *tools.Registry
	Grant     tools.Grant
	Policy    tools.Policy
	Validator *tools.Validator
	// Awaits are the sources that an agent gives time to bring their tools
	// before it calls its model.
	Awaits []Awaiter
	// Own are tools of this agent alone, which need no grant.
	Own []tools.Tool
	// Skills are those that the agent can look into; one of Own does it.
	Skills []tools.Skill
	// Output is the JSON Schema that every answer keeps to; nil: any text.
	Output json.RawMessage
}

// An Awaiter is a source of tools that may still be on its way. Await returns
// when its tools are known, or are not to be had soon. AwaitTool waits until ctx
// ends, for one tool: it returns nil once it is there, and tools.ErrNoTool when
// the source does not have it.
type Awaiter interface {
	Await(ctx context.Context)
	AwaitTool(ctx context.Context, tool string) error
}

// toolPatience is how long a call waits for a source that is away. After a
// restart of a host with its NATS, services connect again after some seconds.
const toolPatience = 30 * time.Second

// Await gives all sources the same time: each is started by the first look at it.
func (b *Toolbox) Await(ctx context.Context) {
	if len(b.Awaits) == 0 {
		return
	}
	var others sync.WaitGroup
	for _, a := range b.Awaits[1:] {
		others.Go(func() { a.Await(ctx) })
	}
	b.Awaits[0].Await(ctx)
	others.Wait()
}

// Find is the tool of that name, if the agent may use it.
func (b *Toolbox) Find(name string) (tools.Tool, bool) {
	for _, t := range b.Own {
		if t.Name == name {
			return t, true
		}
	}
	return b.Registry.Find(b.Grant, name)
}

// Demand is find for a call. A tool whose source is away is waited for: the model
// was offered it, and a call of an earlier life of the host may have to run again.
// The error is tools.ErrNoTool when there is none of that name.
func (b *Toolbox) Demand(ctx context.Context, name string) (tools.Tool, error) {
	if t, ok := b.Find(name); ok {
		return t, nil
	}
	if !b.Grant.Allows(name) {
		return tools.Tool{}, tools.ErrNoTool
	}
	waiting, cancel := context.WithTimeout(ctx, toolPatience)
	defer cancel()
	for _, a := range b.Awaits {
		err := a.AwaitTool(waiting, name)
		if err == nil {
			break
		}
		if !errors.Is(err, tools.ErrNoTool) {
			return tools.Tool{}, fmt.Errorf("%s: %q cannot be reached: %w", llm.CodeToolUnavailable, name, err)
		}
	}
	if t, ok := b.Find(name); ok {
		return t, nil
	}
	return tools.Tool{}, tools.ErrNoTool
}

// Check reports what is wrong with the arguments of a call; nil when nothing is.
func (b *Toolbox) Check(t tools.Tool, args json.RawMessage) error {
	if t.Source == clientSource { // who brings a schema checks by it
		return nil
	}
	return b.Validator.Check(t, args)
}

// Defs describe the tools to a model.
func (b *Toolbox) Defs() []llm.ToolDef {
	all := append(b.Registry.For(b.Grant), b.Own...)
	if len(all) == 0 {
		return nil
	}
	defs := make([]llm.ToolDef, len(all))
	for i, t := range all {
		defs[i] = llm.ToolDef{Name: t.Name, Description: t.Description, Schema: t.Schema}
	}
	return defs
}

// safe reports whether a tool may run again under the same call id.
func (b *Toolbox) safe(name string) bool {
	t, ok := b.Find(name)
	return ok && t.Rerun
}

// Preview are the tools as a model gets them.
func (b *Toolbox) Preview() []agents.PreviewTool {
	list := []agents.PreviewTool{}
	for _, d := range b.Defs() {
		list = append(list, agents.PreviewTool(d))
	}
	return list
}
