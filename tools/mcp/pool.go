// Package mcp offers the tools of MCP servers, over stdio and streamable HTTP.
//
// A server is started, or connected to, when its tools are first needed, and
// from then on kept: when it dies, its calls end with an error and it is started
// again, with growing pauses while that fails. Nobody waits longer than
// Options.Patience for a server that is not there; its tools are left out
// meanwhile. Names with equal configuration share one server.
package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
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
	// Changed is called after a server has come, gone or changed its tools, with
	// the new Version to be seen. It must not block; nil: nobody is told.
	Changed func()
	// Patience bounds how long Await and calls wait for a server that starts;
	// 0: 10 s.
	Patience time.Duration
}

// A Pool holds the clients of all configured servers.
type Pool struct {
	clients []*Client
	peers   []*peer
}

// NewPool makes a client of each of servers. None is started.
func NewPool(servers map[string]tools.MCPConfig, opts Options) *Pool {
	opts.Version = cmp.Or(opts.Version, "dev")
	opts.Patience = cmp.Or(opts.Patience, 10*time.Second)
	pool := &Pool{}
	byPrint := map[string]*peer{}
	for _, name := range slices.Sorted(maps.Keys(servers)) {
		print := fingerprint(servers[name])
		p, ok := byPrint[print]
		if !ok {
			p = newPeer(servers[name], name, opts)
			byPrint[print] = p
			pool.peers = append(pool.peers, p)
		}
		pool.clients = append(pool.clients, &Client{name: name, peer: p})
	}
	return pool
}

// fingerprint is equal for configurations that mean the same server.
func fingerprint(cfg tools.MCPConfig) string {
	text, _ := json.Marshal(cfg) // of strings only, with sorted keys: never fails
	return string(text)
}

// Clients are those of all servers, by name.
func (p *Pool) Clients() []*Client { return slices.Clone(p.clients) }

// Await does what Client.Await does, for all clients at once.
func (p *Pool) Await(ctx context.Context) {
	for _, c := range p.clients {
		c.peer.wake()
	}
	for _, c := range p.clients {
		c.Await(ctx)
	}
}

// Run serves the clients until ctx ends, and returns when the calls in progress
// have ended, every connection is closed and every process is gone. A pool runs
// once.
func (p *Pool) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, peer := range p.peers {
		group.Go(func() { peer.run(ctx) })
	}
	group.Wait()
	return nil
}
