// Package mcp offers the tools of MCP servers, over stdio and streamable HTTP.
//
// A server is started, or connected to, when its tools are first needed, and
// from then on kept: when it dies, its calls end with an error and it is started
// again, with growing pauses while that fails. No call waits longer than
// Options.Patience for a server that is not there; its tools are left out
// meanwhile. Names with equal configuration share one server.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"agenthost/tools"

	"github.com/rs/zerolog"
)

// Options are what a Pool needs of its host. The zero Options log nothing and
// decline every question.
type Options struct {
	Log     zerolog.Logger
	Version string // what servers are told about this client; empty: "dev"
	// Ask asks a person what a server wants to know during a call; nil: every
	// such question is declined.
	Ask Ask
	// Introduce is the message of a server as a person is shown it, with the
	// server's name; nil: in English.
	Introduce func(call tools.Call, server, message string) string
	// Changed is called after a server has come, gone or changed its tools, with
	// the new Version to be seen. It must not block; nil: changes are not reported.
	Changed func()
	// Tokens is the folder of the OAuth tokens that logins have brought; empty:
	// none is used.
	Tokens string
	// Patience bounds how long Await and calls wait for a server that starts;
	// 0: 10 s.
	Patience time.Duration
}

// A Pool holds the clients of all configured servers.
type Pool struct {
	opts Options

	mu      sync.Mutex
	clients []*Client
	peers   map[string]*peer // by fingerprint
	start   func(*peer)      // nil while the pool does not run
}

// NewPool makes a client of each of servers. None is started.
func NewPool(servers map[string]tools.MCPConfig, opts Options) *Pool {
	opts.Version = cmp.Or(opts.Version, "dev")
	opts.Patience = cmp.Or(opts.Patience, 10*time.Second)
	p := &Pool{opts: opts}
	_, apply := p.Change(servers)
	apply()
	return p
}

// Change prepares for other servers, and returns their clients, by name. Once
// apply is called they can be used, those whose configuration is as before go
// on, and those that are not among them any more end after their calls. There
// is to be no other Change in between.
func (p *Pool) Change(servers map[string]tools.MCPConfig) (clients []*Client, apply func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	peers := map[string]*peer{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		print := fingerprint(servers[name])
		if peers[print] == nil {
			peers[print] = p.peers[print]
		}
		if peers[print] == nil {
			peers[print] = newPeer(servers[name], name, p.opts)
		}
		clients = append(clients, &Client{name: name, trust: servers[name].Trust, peer: peers[print]})
	}
	return clients, func() { p.apply(clients, peers) }
}

func (p *Pool) apply(clients []*Client, peers map[string]*peer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	old := p.peers
	p.clients, p.peers = clients, peers
	if p.start == nil {
		return
	}
	for print, peer := range peers {
		if old[print] == nil {
			p.start(peer)
		}
	}
	for print, peer := range old {
		if peers[print] == nil {
			peer.asked.whenIdle(peer.retire)
		}
	}
}

// fingerprint is equal for configurations that mean the same server, trusted or not.
func fingerprint(cfg tools.MCPConfig) string {
	cfg.Trust = false
	text, _ := json.Marshal(cfg) // of plain values, with sorted keys: never fails
	return string(text)
}

// Clients are those of all servers, by name.
func (p *Pool) Clients() []*Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.clients)
}

// Await does what Client.Await does, for all clients at once.
func (p *Pool) Await(ctx context.Context) {
	clients := p.Clients()
	for _, c := range clients {
		c.peer.wake()
	}
	for _, c := range clients {
		c.Await(ctx)
	}
}

// Run serves the clients until ctx ends, and returns when the calls in progress
// have ended, every connection is closed and every process is gone. A pool runs
// once.
func (p *Pool) Run(ctx context.Context) error {
	var group sync.WaitGroup
	p.mu.Lock()
	p.start = func(peer *peer) { group.Go(func() { peer.run(ctx) }) }
	for _, peer := range p.peers {
		p.start(peer)
	}
	p.mu.Unlock()
	<-ctx.Done()
	p.mu.Lock()
	p.start = nil
	p.mu.Unlock()
	group.Wait()
	return nil
}

// A Client is a configured server as a source of tools. Only its Await,
// AwaitTool and tools block.
type Client struct {
	name  string
	trust bool // its word that a tool is harmless counts
	peer  *peer
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
	now := c.peer.state()
	named := make([]tools.Tool, len(now.tools))
	for i, t := range now.tools {
		if !c.trust && now.ofServer(t.Name) {
			t.ReadOnly, t.Rerun = false, false
		}
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

// Faults say why the server is left out, or a tool of it, or a tool is offered without its
// schema; none when all is well, and before its first use.
func (c *Client) Faults() []tools.Fault {
	now := c.peer.state()
	if now.err != nil {
		return []tools.Fault{{Source: c.Name(), Err: now.err}}
	}
	var faults []tools.Fault
	for _, f := range now.allFaults() {
		faults = append(faults, tools.Fault{Source: c.Name(), Tool: c.name + "." + f.Tool, Err: f.Err})
	}
	return faults
}
