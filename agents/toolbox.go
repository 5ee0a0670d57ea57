package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

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

// await gives all sources the same time: each is started by the first look at it.
func (b *Toolbox) await(ctx context.Context) {
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

func (b *Toolbox) find(name string) (tools.Tool, bool) {
	for _, t := range b.Own {
		if t.Name == name {
			return t, true
		}
	}
	return b.Registry.Find(b.Grant, name)
}

// demand is find for a call. A tool whose source is away is waited for: the model
// was offered it, and a call of an earlier life of the host may have to run again.
// The error is tools.ErrNoTool when there is none of that name.
func (b *Toolbox) demand(ctx context.Context, name string) (tools.Tool, error) {
	if t, ok := b.find(name); ok {
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
	if t, ok := b.find(name); ok {
		return t, nil
	}
	return tools.Tool{}, tools.ErrNoTool
}

func (b *Toolbox) check(t tools.Tool, args json.RawMessage) error { return b.Validator.Check(t, args) }

// defs describe the tools to a model.
func (b *Toolbox) defs() []llm.ToolDef {
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
	t, ok := b.find(name)
	return ok && t.Rerun
}
