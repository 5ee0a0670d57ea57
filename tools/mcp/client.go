package mcp

import (
	"context"
	"fmt"
	"strings"

	"agenthost/tools"
)

// A Client is a configured server as a source of tools. Only its Await,
// AwaitTool and tools block.
type Client struct {
	name string
	peer *peer
}

var _ tools.Source = (*Client)(nil)

// Name says which server it is, for people.
func (c *Client) Name() string { return fmt.Sprintf("mcp server %q", c.name) }

// Version changes after Tools or Faults have.
func (c *Client) Version() uint64 { return c.peer.version.Load() }

// Await starts the server, if it is not started yet, and waits until its tools
// are known, it cannot be reached, ctx has ended, or Options.Patience is over
// since it was first needed.
func (c *Client) Await(ctx context.Context) {
	c.peer.wake()
	select {
	case <-c.peer.settled:
	case <-ctx.Done():
	}
}

// AwaitTool waits until the server has the tool, or is there without it:
// tools.ErrNoTool. When ctx ends first, the error says what is amiss.
func (c *Client) AwaitTool(ctx context.Context, tool string) error {
	name, mine := strings.CutPrefix(tool, c.name+".")
	if !mine {
		return tools.ErrNoTool
	}
	if err := c.peer.awaitTool(ctx, name); err != nil {
		return fmt.Errorf("%s: %w", c.Name(), err)
	}
	return nil
}

// Tools are those of the server as far as they are known, named
// `<server>.<tool>`. The first look at them starts the server. There are none
// while it cannot be reached: Faults says why.
func (c *Client) Tools() []tools.Tool {
	c.peer.wake()
	listed := c.peer.state().tools
	named := make([]tools.Tool, len(listed))
	for i, t := range listed {
		theirs := t
		t.Name = c.name + "." + theirs.Name
		t.Source = c.Name()
		t.Run = func(ctx context.Context, call tools.Call) (tools.Result, error) {
			call.Name = t.Name
			res, err := c.peer.call(ctx, theirs, call)
			if err != nil {
				return tools.Result{}, fmt.Errorf("call %s of %s: %w", theirs.Name, c.Name(), err)
			}
			return res, nil
		}
		named[i] = t
	}
	return named
}

// Faults say why the server is left out, or a tool of it is offered without its
// schema; none when all is well, and before its first use.
func (c *Client) Faults() []tools.Fault {
	now := c.peer.state()
	if now.err != nil {
		return []tools.Fault{{Source: c.Name(), Err: now.err}}
	}
	var faults []tools.Fault
	for _, f := range now.faults {
		faults = append(faults, tools.Fault{Source: c.Name(), Tool: c.name + "." + f.Tool, Err: f.Err})
	}
	return faults
}
