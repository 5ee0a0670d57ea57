package eval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agenthost/config"
	"agenthost/internal/build"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"
)

// Replay drives the machine of runs with what a log says came from outside, and
// returns why it does not make the rest of the log, or end as it says.
func Replay(facts []session.Fact) error {
	events := make([]run.Event, len(facts))
	for i, f := range facts {
		events[i] = f.Event
	}
	_, err := run.Replay(events)
	if d, ok := errors.AsType[*run.DivergenceError](err); ok && d.Index < len(facts) {
		return fmt.Errorf("at %d.%d: %w", facts[d.Index].Seq, facts[d.Index].N, err)
	}
	return err
}

// An Outcome is how a model has answered in a run.
type Outcome struct {
	Text   string   `json:"text"`
	Calls  []string `json:"calls,omitempty"` // tools with their arguments, in order
	Input  int64    `json:"input"`           // tokens
	Output int64    `json:"output"`
	Cost   int64    `json:"cost,omitempty"` // micro-cents
	Priced bool     `json:"priced"`
	Error  string   `json:"error,omitempty"`
}

func (o *Outcome) count(u llm.Usage, cost int64, priced bool) {
	o.Input, o.Output, o.Cost, o.Priced = o.Input+u.Input, o.Output+u.Output, llm.Sum(o.Cost, cost), priced
}

// A Comparison is a run as it was, and as another model answers it. Of a run that was
// recorded up to a place, both are what came behind that.
type Comparison struct {
	Run  string  `json:"run"`
	Seq  uint64  `json:"seq"` // of its first commit
	Said string  `json:"said"`
	At   string  `json:"at,omitempty"` // the place behind which the model was asked
	Then Outcome `json:"then"`
	Now  Outcome `json:"now"`
}

// A Rerun gives a model what runs of an agent gave theirs. No tool is called and nothing
// is written: a call that the run has made too gets the result it got then, any other an
// error.
type Rerun struct {
	Agent  string
	Model  string // a name of the configuration; empty: the agent's first
	System string // in place of the agent's instructions
	Run    string // this run alone; empty: all
	// At is a place in the log, SEQ or SEQ.N: what is before it stays as it was recorded,
	// and the model is asked from the next call on to the end of that run. Empty: every
	// run from its first call on.
	At string
	// Admit is asked before each call of the model, as llm.Chain has it; nil: none is.
	Admit func(ctx context.Context, l llm.Link, req llm.Request) (llm.Admission, error)
}

// Of asks the model what the runs of a log asked theirs, and calls each with how it
// answers.
func (r Rerun) Of(ctx context.Context, cfg *config.Config, facts []session.Fact, each func(Comparison) error) error {
	list, err := r.recordings(facts)
	if err != nil {
		return err
	}
	asked, err := r.prepare(cfg)
	if err != nil {
		return err
	}
	for _, t := range list {
		asked.add(t)
		t.Now = asked.ask(ctx, t)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := each(t.Comparison); err != nil {
			return err
		}
	}
	return nil
}

// recordings are those of the runs to ask again.
func (r Rerun) recordings(facts []session.Fact) ([]*recording, error) {
	from, err := begin(facts, r.At)
	if err != nil {
		return nil, err
	}
	list := recordings(facts, from)
	if r.Run != "" {
		list = slices.DeleteFunc(list, func(t *recording) bool { return t.Run != r.Run })
	}
	if r.At == "" {
		return list, nil
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("no model was asked behind %s", r.At)
	}
	list[0].At = r.At
	return list[:1], nil
}

// Check finds a place that is none.
func (r Rerun) Check() error {
	if r.At == "" {
		return nil
	}
	_, err := session.ParsePlace(r.At)
	return err
}

// begin is the index of the first fact that the model may make otherwise. A place at the
// call of a model is before it: that call is asked again.
func begin(facts []session.Fact, place string) (int, error) {
	if place == "" {
		return 0, nil
	}
	at, err := session.ParsePlace(place)
	if err != nil {
		return 0, err
	}
	i := -1
	for n, f := range facts {
		if f.Seq == at.Seq && (at.N == 0 || f.N == at.N) {
			i = n + 1
		}
	}
	if i < 0 {
		return 0, fmt.Errorf("the log has no place %s; take seq and n from the export of the session", place)
	}
	for i > 0 && facts[i-1].Event.Type == run.ModelCalled {
		i--
	}
	for i < len(facts) && facts[i].Event.Type == run.ToolRequested { // it goes with the words that asked for it
		i++
	}
	return i, nil
}

// A rerun is a model with what it is given before the conversation.
type rerun struct {
	chain *llm.Chain
	req   llm.Request
	most  int // calls of the model in a run
}

func (r Rerun) prepare(cfg *config.Config) (*rerun, error) {
	i := slices.IndexFunc(cfg.Agents, func(a config.Agent) bool { return a.ID == r.Agent })
	if i < 0 {
		return nil, fmt.Errorf("no agent %q in the configuration, whose instructions the model would be given; name another with -c", r.Agent)
	}
	agent, model := cfg.Agents[i], r.Model
	if model == "" && len(agent.Model) > 0 {
		model = agent.Model[0]
	}
	one, ok := cfg.Models[model]
	if !ok {
		return nil, fmt.Errorf("no model %q in the configuration; there is %s", model, strings.Join(slices.Sorted(maps.Keys(cfg.Models)), ", "))
	}
	chain, err := build.Chain(model, one)
	if err != nil {
		return nil, err
	}
	chain.Admit = r.Admit
	described, err := build.Described()
	if err != nil {
		return nil, err
	}
	asked := &rerun{chain: chain, most: 64, req: llm.Request{System: cmp.Or(r.System, agent.Instructions)}}
	if n := agent.Limits.ModelCalls; n > 0 {
		asked.most = n
	}
	if names := agent.Tools; len(names) > 0 {
		for _, t := range described.For(tools.GrantOf(names...)) {
			asked.req.Tools = append(asked.req.Tools, llm.ToolDef{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
	}
	return asked, nil
}

// add describes the tools of a run that only a running host could.
func (r *rerun) add(t *recording) {
	for _, name := range slices.Sorted(maps.Keys(t.tools)) {
		if !slices.ContainsFunc(r.req.Tools, func(d llm.ToolDef) bool { return d.Name == name }) {
			r.req.Tools = append(r.req.Tools, llm.ToolDef{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
		}
	}
}

// ask lets the model answer until it calls no tool.
func (r *rerun) ask(ctx context.Context, t *recording) Outcome {
	o := Outcome{}
	req := r.req
	req.Messages = linked(t.before)
	for range r.most {
		answer, err := r.call(ctx, req, &o)
		if err != nil {
			o.Error = err.Error()
			return o
		}
		calls := answer.Calls()
		if len(calls) == 0 {
			o.Text = answer.Text()
			return o
		}
		results := llm.Message{Role: llm.Tool}
		for _, c := range calls {
			o.Calls = append(o.Calls, callText(c.Name, c.Args))
			results.Parts = append(results.Parts, t.result(c))
		}
		req.Messages = append(req.Messages, answer, results)
	}
	o.Error = fmt.Sprintf("it still called tools after %d answers", r.most)
	return o
}

func (r *rerun) call(ctx context.Context, req llm.Request, o *Outcome) (llm.Message, error) {
	said := llm.Builder{}
	report := func(a llm.Attempt) {
		o.count(a.Usage, a.Cost, a.Priced)
		said.Provider = a.Provider
	}
	for delta, err := range r.chain.Stream(ctx, req, report) {
		if err != nil {
			return llm.Message{}, err
		}
		said.Add(delta)
	}
	return said.Message(), nil
}
