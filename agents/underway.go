package agents

import (
	"encoding/json"
	"time"

	"agenthost/llm"
	"agenthost/run"
)

// A RunStatus is a run on one host, from the moment in which its session has
// something to do.
type RunStatus struct {
	Agent   string      `json:"agent"`
	Session string      `json:"session"`
	Run     string      `json:"run,omitempty"` // empty before it has begun
	Trigger run.Trigger `json:"trigger,omitempty"`
	Attempt int         `json:"attempt,omitempty"`
	Since   time.Time   `json:"since"`
	Phase   string      `json:"phase"`
	// For is what it waits for: tools by name, and the questions to people.
	For   []string `json:"for,omitempty"`
	Model string   `json:"model,omitempty"` // the entry that is being asked, or was last
}

// The phases of a run besides those of the machine.
const (
	PhaseQueued   = "queued"   // all that its agent may do at once is being done
	PhaseStarting = "starting" // its log is opened, hooks look at its message
	PhaseStoring  = "storing"  // its last commit is on its way
)

// Runs are the runs of this host, in no order.
func (f *Fleet) Runs() []RunStatus {
	var list []RunStatus
	for _, r := range f.runtimes() {
		list = append(list, r.runs()...)
	}
	return list
}

func (r *Runtime) runs() []RunStatus {
	queued := map[*conversation]bool{}
	r.mu.Lock()
	for _, c := range r.ready {
		queued[c] = true
	}
	r.mu.Unlock()
	var list []RunStatus
	for entry := range r.sessions.All() {
		if s, ok := entry.Value.runStatus(); ok {
			if queued[entry.Value] {
				s.Phase = PhaseQueued
			}
			list = append(list, s)
		}
	}
	return list
}

// runStatus is the run of c, if one is at work or about to begin.
func (c *conversation) runStatus() (s RunStatus, ok bool) {
	c.mu.Lock()
	t, since, running, over := c.current, c.began, c.running, c.over
	c.mu.Unlock()
	s = RunStatus{Agent: c.r.id, Session: string(c.key), Since: since.UTC(), Phase: PhaseStarting}
	switch {
	case t != nil:
		t.describe(&s)
	case over:
		s.Phase = PhaseStoring
	}
	return s, running || t != nil
}

// describe says what the run is doing.
func (t *runner) describe(s *RunStatus) {
	t.mu.Lock()
	s.Run, s.Model = t.id, t.entry
	t.mu.Unlock()
	t.journal.View(func(state run.State) {
		if state.Run == nil || state.Run.ID != t.id {
			s.Phase = PhaseStoring
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

// asks notes which model is asked for the run.
func (t *runner) asks(l llm.Link) {
	name := l.Name
	if l.Gate != nil {
		name = l.Gate.Name()
	}
	t.mu.Lock()
	t.entry = name
	t.mu.Unlock()
}

// lastModel is the entry that was asked last for the run. Of a run that was asked for by
// another host it is the first that its agent asks.
func (t *runner) lastModel() string {
	t.mu.Lock()
	entry := t.entry
	t.mu.Unlock()
	if models := t.p.cfg.Model; entry == "" && len(models) > 0 {
		return models[0]
	}
	return entry
}

// A Preview is what an agent's model gets with each call, besides the
// conversation.
type Preview struct {
	Agent    string          `json:"agent"`
	Models   []string        `json:"models"` // the entries that answer, in turn
	Behavior bool            `json:"behavior,omitempty"`
	System   string          `json:"system"`
	Tools    []PreviewTool   `json:"tools"`
	Output   json.RawMessage `json:"output_schema,omitempty"`
	// Bindings are those whose messages are answered otherwise.
	Bindings []BindingPreview `json:"bindings,omitempty"`
}

// A BindingPreview is what is sent for the messages of one binding.
type BindingPreview struct {
	Subject string        `json:"subject"`
	Models  []string      `json:"models"`
	System  string        `json:"system"`
	Tools   []PreviewTool `json:"tools"`
}

// A PreviewTool is a tool as a model gets it.
type PreviewTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema,omitempty"`
}

// Preview is what the model of an agent gets by now; ok is false when there is
// no such agent.
func (f *Fleet) Preview(agent string) (p Preview, ok bool) {
	r := f.Runtime(agent)
	if r == nil {
		return Preview{}, false
	}
	now := r.now()
	p = Preview{
		Agent: agent, Models: now.cfg.Model, Behavior: now.behavior != nil, System: now.system, Tools: now.tools.preview(), Output: now.tools.Output,
	}
	for _, b := range now.bound {
		p.Bindings = append(p.Bindings, BindingPreview{b.subject, b.profile.cfg.Model, b.profile.system, b.profile.tools.preview()})
	}
	return p, true
}

func (b *Toolbox) preview() []PreviewTool {
	list := []PreviewTool{}
	for _, d := range b.defs() {
		list = append(list, PreviewTool(d))
	}
	return list
}
