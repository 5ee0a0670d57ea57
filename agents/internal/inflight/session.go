// Package inflight is a run in progress, as the calls that it makes of models and tools see
// it: its session and agent, what it answers, where its replies go.
package inflight

import (
	"context"
	"strings"
	"sync/atomic"

	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/budget"
	"agenthost/agents/internal/message"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/internal/texts"
	"agenthost/run"
	"agenthost/session"

	"github.com/rs/zerolog"
)

// An Agent is what all sessions of an agent have in common.
type Agent struct {
	ID      string
	Parts   *parts.Parts
	Profile atomic.Pointer[profile.Profile] // of the agent by now
	Ledger  *budget.Ledger
	Longest atomic.Int64    // of the answers so far, in tokens
	Work    context.Context //nolint:containedctx // what runs are cancelled by, while the agent runs
}

// Now is the profile that the next turn goes by, or one of its bindings'.
func (a *Agent) Now() *profile.Profile { return a.Profile.Load() }

// Log is made when there is something to log: an agent at rest is small.
func (a *Agent) Log() *zerolog.Logger {
	log := a.Parts.Log.With().Str("agent", a.ID).Logger()
	return &log
}

// Fire calls the hooks of a point with arguments that are at hand, in a trace that may be
// empty.
func (a *Agent) Fire(point string, key session.Key, runID string, trace tracing.Context, args hooks.Args) {
	if isCanary(key) {
		return
	}
	trace = trace.Outward()
	a.Parts.Hooks.Fire(context.WithoutCancel(a.Work), hooks.Call{
		Hook: point, Agent: a.ID, Session: string(key), Run: runID, Args: args, TraceParent: trace.Parent, TraceState: trace.State,
	})
}

// A Session is one of the agent's.
type Session struct {
	Agent *Agent
	Key   session.Key
}

// AgentID is the id of the agent.
func (s Session) AgentID() string { return s.Agent.ID }

// Log is made when there is something to log: a session at rest is small.
func (s Session) Log() *zerolog.Logger { return s.named(s.Agent.Parts.Log) }

// Few is Log for what may happen to all sessions at once.
func (s Session) Few() *zerolog.Logger { return s.named(s.Agent.Parts.Few) }

func (s Session) named(log zerolog.Logger) *zerolog.Logger {
	log = log.With().Str("agent", s.Agent.ID).Str("session", string(s.Key)).Logger()
	return &log
}

// Hooked reports whether a point has a handler for this session.
func (s Session) Hooked(point string) bool {
	return !isCanary(s.Key) && s.Agent.Parts.Hooks.HasFor(point, s.Agent.ID, string(s.Key))
}

// isCanary reports whether a session is that of a canary, which no hook hears of.
func isCanary(key session.Key) bool { return strings.HasPrefix(string(key), bus.DoorProbe+"/") }

// WaitID names a call of the session that waits.
func (s Session) WaitID(runID string, call run.Call) string {
	return ask.ID(s.Agent.ID, s.Key, runID, call)
}

// Texts are the sentences of the agent.
func (s Session) Texts() texts.Book { return s.Agent.Now().Texts }

// Book is Texts as they hold for the binding by which an input came.
func (s Session) Book(it *message.Item) texts.Book { return s.Agent.Now().By(it.Origin.Subject).Texts }
