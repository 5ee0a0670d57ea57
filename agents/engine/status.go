package engine

import (
	"context"
	"iter"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/modelcall"
	"agenthost/llm"
	"agenthost/session"
)

// OldestWaiting is for how long the oldest message of each agent has waited for its turn
// on this host; 0 when none waits.
func (f *Fleet) OldestWaiting() iter.Seq2[string, time.Duration] {
	return func(yield func(string, time.Duration) bool) {
		for _, r := range f.runtimes() {
			waited := time.Duration(0)
			if oldest := r.oldestWaiting(); !oldest.IsZero() {
				waited = max(0, time.Since(oldest))
			}
			if !yield(r.id, waited) {
				return
			}
		}
	}
}

func (r *Runtime) oldestWaiting() (oldest time.Time) {
	for _, p := range r.all() {
		if p.shared.Queued.Load() == 0 {
			continue
		}
		for entry := range p.sessions.All() {
			if at := entry.Value.OldestWaiting(); !at.IsZero() && (oldest.IsZero() || at.Before(oldest)) {
				oldest = at
			}
		}
	}
	return oldest
}

// OpenApprovals is how many approvals of each agent wait for a person. Of the hosts of a fleet
// the one that serves an agent's lane has all of them, and the others none.
func (f *Fleet) OpenApprovals() iter.Seq2[string, int] { return f.open(f.parts.Asks.Open.Approvals) }

// OpenQuestions is OpenApprovals for questions.
func (f *Fleet) OpenQuestions() iter.Seq2[string, int] { return f.open(f.parts.Asks.Open.Questions) }

func (f *Fleet) open(count func(agent string) int) iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for _, r := range f.runtimes() {
			n := 0
			if f.lanes.Shares(r.id) {
				n = count(r.id)
			}
			if !yield(r.id, n) {
				return
			}
		}
	}
}

// Preview is what the model of an agent gets by now; ok is false when there is
// no such agent.
func (f *Fleet) Preview(agent string) (p agents.Preview, ok bool) {
	r := f.Runtime(agent)
	if r == nil {
		return agents.Preview{}, false
	}
	now := r.now()
	p = agents.Preview{
		Agent: agent, Models: now.Config.Model, Behavior: now.Behavior != nil, System: now.System, Tools: now.Tools.Preview(), Output: now.Tools.Output,
	}
	for _, b := range now.Bound {
		p.Bindings = append(p.Bindings, agents.BindingPreview{
			Subject: b.Subject, Models: b.Profile.Config.Model, System: b.Profile.System, Tools: b.Profile.Tools.Preview(),
		})
	}
	return p, true
}

// Trial lets calls of models begin that an operator makes in the place of an agent,
// and books them in its budgets; nil when there is no such agent.
func (f *Fleet) Trial(agent string) func(context.Context, llm.Link, llm.Request) (llm.Admission, error) {
	r := f.Runtime(agent)
	if r == nil {
		return nil
	}
	return modelcall.Trial(r.agent, r.now())
}

// Speaking is what the model of a session has said so far in the call under
// way, as chunks that each fit into a message; nil when it says nothing here.
// What a reader of the stream has missed is in it. Of an agent that holds its
// stream nothing is shown before the reply.
func (f *Fleet) Speaking(agent string, key session.Key) []agents.Chunk {
	r := f.Runtime(agent)
	if r == nil {
		return nil
	}
	c, ok := r.inMemory(key)
	if !ok {
		return nil
	}
	return c.Speaking()
}

// Owns reports whether this host is the one of the fleet that serves an agent: the
// first of its lanes that was ever served decides.
func (f *Fleet) Owns(ctx context.Context, agent string) (bool, error) {
	if f.Runtime(agent) == nil {
		return false, nil
	}
	return f.lanes.Owns(ctx, agent)
}

// Busy reports whether there is anything to do in a session on this host.
func (f *Fleet) Busy(agent string, key session.Key) bool {
	r := f.Runtime(agent)
	if r == nil {
		return false
	}
	c, ok := r.inMemory(key)
	return ok && c.Busy()
}

// Drop drops a session from memory, as its log was deleted. Work in progress in
// it ends by itself: its next commit is refused.
func (f *Fleet) Drop(agent string, key session.Key) bool {
	r := f.Runtime(agent)
	dropped := false
	if r != nil {
		for _, p := range r.all() {
			dropped = p.sessions.Delete(key) || dropped
		}
	}
	return dropped
}
