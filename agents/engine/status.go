package engine

import (
	"context"

	"agenthost/agents"
	"agenthost/agents/internal/modelcall"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// Runs are the runs of this host, in no order.
func (f *Fleet) Runs() []agents.RunStatus {
	var list []agents.RunStatus
	for _, r := range f.runtimes() {
		for _, p := range r.all() {
			list = append(list, p.runs()...)
		}
	}
	return list
}

func (r *Runtime) runs() []agents.RunStatus {
	queued := map[*conversation]bool{}
	r.slots.mu.Lock()
	for _, c := range r.slots.ready {
		queued[c] = true
	}
	r.slots.mu.Unlock()
	var list []agents.RunStatus
	for entry := range r.sessions.All() {
		if s, ok := entry.Value.runStatus(); ok {
			if queued[entry.Value] {
				s.Phase = agents.PhaseQueued
			}
			list = append(list, s)
		}
	}
	return list
}

// runStatus is the run of c, if one is at work or about to begin.
func (c *conversation) runStatus() (s agents.RunStatus, ok bool) {
	c.mu.Lock()
	t, since, running, over := c.current, c.began, c.running, c.over
	c.mu.Unlock()
	s = agents.RunStatus{Agent: c.r.id, Session: string(c.Key), Since: since.UTC(), Phase: agents.PhaseStarting}
	switch {
	case t != nil:
		t.describe(&s)
	case over:
		s.Phase = agents.PhaseStoring
	}
	return s, running || t != nil
}

// describe says what the run is doing.
func (t *runner) describe(s *agents.RunStatus) {
	s.Run, s.Model = t.ID, t.Entry()
	t.Journal.View(func(state run.State) {
		if state.Run == nil || state.Run.ID != t.ID {
			s.Phase = agents.PhaseStoring
			return
		}
		s.Phase, s.Trigger, s.Attempt = string(state.Phase), state.Run.Trigger, state.Run.Attempt
		s.Since = state.Run.Started.UTC()
		for _, call := range state.Run.Calls {
			switch {
			case call.Done:
			case call.Asked == run.ForDelegate:
				s.For = append(s.For, call.To)
			case call.Asked != "":
				s.For = append(s.For, call.Asked)
			default:
				s.For = append(s.For, call.Name)
			}
		}
	})
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
	return c.speaking()
}

func (c *conversation) speaking() []agents.Chunk {
	c.mu.Lock()
	t := c.current
	c.mu.Unlock()
	if t == nil {
		return nil
	}
	return t.model.Speaking()
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
	if !ok {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.entry != nil
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
