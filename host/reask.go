package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"agenthost/config"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/tools"
	"agenthost/tools/builtin"

	"github.com/rs/zerolog"
)

// Replay drives the machine of runs with what a log says came from outside, and
// returns why it does not make the rest of the log, or end as it says.
func Replay(facts []Fact) error {
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

// A Comparison is a run as it was, and as another model answers it.
type Comparison struct {
	Run  string  `json:"run"`
	Seq  uint64  `json:"seq"` // of its first commit
	Said string  `json:"said"`
	Then Outcome `json:"then"`
	Now  Outcome `json:"now"`
}

// A reasking asks a model again what runs have asked.
type reasking struct {
	chain *llm.Chain
	req   llm.Request
	most  int // calls of the model in a run
}

// Reask gives a model the input of every run of a log and calls each with how it
// answers. No tool is called and nothing is written: a call that the run has
// made too gets the result it got then, any other an error.
func Reask(ctx context.Context, cfg *config.Config, agent, model string, facts []Fact, each func(Comparison) error) error {
	r, err := newReasking(cfg, agent, model)
	if err != nil {
		return err
	}
	for _, t := range takes(facts) {
		r.add(t)
		t.Now = r.ask(ctx, t)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := each(t.Comparison); err != nil {
			return err
		}
	}
	return nil
}

func newReasking(cfg *config.Config, agent, model string) (*reasking, error) {
	one, ok := cfg.Models[model]
	if !ok {
		return nil, fmt.Errorf("no model %q in the configuration; there is %v", model, sortedKeys(cfg.Models))
	}
	i := slices.IndexFunc(cfg.Agents, func(a config.Agent) bool { return a.ID == agent })
	if i < 0 {
		return nil, fmt.Errorf("no agent %q in the configuration, whose instructions the model would be given; name another with -c", agent)
	}
	built := New(Options{Config: cfg, Log: zerolog.Nop()}).buildModels(map[string]llm.Config{model: one})
	if fault := built[model].fault; fault != nil {
		return nil, fault
	}
	own, err := builtin.New(builtin.Options{Workspace: func(string) string { return "" }, Log: zerolog.Nop()})
	if err != nil {
		return nil, err
	}
	r := &reasking{chain: built.lineup([]string{model}).chain, most: 64, req: llm.Request{System: cfg.Agents[i].Instructions}}
	if n := cfg.Agents[i].Limits.ModelCalls; n > 0 {
		r.most = n
	}
	if names := cfg.Agents[i].Tools; len(names) > 0 {
		for _, t := range tools.NewRegistry(tools.Static(own)).For(tools.GrantOf(names...)) {
			r.req.Tools = append(r.req.Tools, llm.ToolDef{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
	}
	return r, nil
}

// add describes the tools of a run that only a running host could.
func (r *reasking) add(t *take) {
	for _, name := range slices.Sorted(maps.Keys(t.tools)) {
		if !slices.ContainsFunc(r.req.Tools, func(d llm.ToolDef) bool { return d.Name == name }) {
			r.req.Tools = append(r.req.Tools, llm.ToolDef{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
		}
	}
}

// ask lets the model answer until it calls no tool.
func (r *reasking) ask(ctx context.Context, t *take) Outcome {
	o := Outcome{}
	req := r.req
	req.Messages = slices.Clone(t.before)
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
			o.Calls = append(o.Calls, shownCall(c.Name, c.Args))
			results.Parts = append(results.Parts, t.result(c))
		}
		req.Messages = append(req.Messages, answer, results)
	}
	o.Error = fmt.Sprintf("it still called tools after %d answers", r.most)
	return o
}

func (r *reasking) call(ctx context.Context, req llm.Request, o *Outcome) (llm.Message, error) {
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

// A take is a run as it was, with what the model was told in it.
type take struct {
	Comparison
	before  []llm.Message        // the conversation as its first model call had it
	results map[string][]outcome // of its tools, by call
	tools   map[string]bool
	open    map[string]string // calls without their result
}

type outcome struct {
	text string
	ok   bool
}

// result is what a call got in the run, each result once.
func (t *take) result(c llm.Part) llm.Part {
	got := llm.Part{Type: llm.ToolResult, Call: c.Call, Name: c.Name, Error: true, Text: "not replayed: the recorded run has no such call"}
	key := shownCall(c.Name, c.Args)
	if left := t.results[key]; len(left) > 0 {
		got.Text, got.Error = left[0].text, !left[0].ok
		t.results[key] = left[1:]
	}
	return got
}

func shownCall(name string, args json.RawMessage) string {
	var v any
	if json.Unmarshal(args, &v) == nil {
		if same, err := json.Marshal(v); err == nil { // keys in order
			args = same
		}
	}
	return name + " " + string(args)
}

// takes are the runs of a log that have asked a model.
func takes(facts []Fact) []*take {
	var list []*take
	var now *take
	state := run.State{Phase: run.Idle}
	for _, f := range facts {
		e := f.Event
		if e.Type == run.Started && (state.Run == nil || state.Run.ID != e.Run) {
			now = &take{
				Comparison: Comparison{Run: e.Run, Seq: f.Seq}, results: map[string][]outcome{},
				tools: map[string]bool{}, open: map[string]string{},
			}
			list = append(list, now)
		}
		if now != nil {
			now.note(e, state)
		}
		if e.Type == run.Finished {
			now = nil
		}
		state = run.Fold(state, e)
	}
	return slices.DeleteFunc(list, func(t *take) bool { return t.before == nil })
}

// note takes an event of the run down; state is what was before it.
func (t *take) note(e run.Event, state run.State) {
	switch e.Type {
	case run.MessageAdded:
		t.message(e.Message, state)
	case run.ModelCalled:
		if t.before == nil {
			t.before = slices.Clone(state.Messages)
		}
		if e.Usage != nil {
			t.Then.count(*e.Usage, e.Cost, e.Priced)
		}
	case run.ToolRequested:
		key := shownCall(e.Name, e.Args)
		t.Then.Calls = append(t.Then.Calls, key)
		t.tools[e.Name], t.open[e.Call] = true, key
	case run.ToolFinished:
		key := t.open[e.Call]
		t.results[key] = append(t.results[key], outcome{e.Result, e.OK})
	case run.Finished:
		if e.Error != nil {
			t.Then.Error = e.Error.Message
		}
	}
}

func (t *take) message(m *llm.Message, state run.State) {
	switch {
	case m == nil:
	case m.Role == llm.User && t.Said == "":
		t.Said = m.Text()
	case m.Role == llm.Assistant:
		if t.before == nil {
			t.before = slices.Clone(state.Messages)
		}
		t.Then.Text = m.Text()
	}
}
