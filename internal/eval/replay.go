package eval

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

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

// A Comparison is a run as it was, and as another model answers it.
type Comparison struct {
	Run  string  `json:"run"`
	Seq  uint64  `json:"seq"` // of its first commit
	Said string  `json:"said"`
	Then Outcome `json:"then"`
	Now  Outcome `json:"now"`
}

// A rerun gives a model what recorded runs gave theirs.
type rerun struct {
	chain *llm.Chain
	req   llm.Request
	most  int // calls of the model in a run
}

// Rerun gives a model the input of every run of a log and calls each with how it
// answers. No tool is called and nothing is written: a call that the run has
// made too gets the result it got then, any other an error.
func Rerun(ctx context.Context, cfg *config.Config, agent, model string, facts []session.Fact, each func(Comparison) error) error {
	return RerunOf(ctx, cfg, agent, model, "", facts, nil, each)
}

// An Admit is asked before each call of a model, as llm.Chain has it; nil: none is asked.
type Admit func(ctx context.Context, l llm.Link, req llm.Request) (llm.Admission, error)

// RerunOf is Rerun of one run of the log; empty: of all.
func RerunOf(ctx context.Context, cfg *config.Config, agent, model, run string, facts []session.Fact, admit Admit, each func(Comparison) error) error {
	r, err := newRerun(cfg, agent, model)
	if err != nil {
		return err
	}
	r.chain.Admit = admit
	for _, t := range recordings(facts) {
		if run != "" && t.Run != run {
			continue
		}
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

func newRerun(cfg *config.Config, agent, model string) (*rerun, error) {
	one, ok := cfg.Models[model]
	if !ok {
		return nil, fmt.Errorf("no model %q in the configuration; there is %v", model, slices.Sorted(maps.Keys(cfg.Models)))
	}
	i := slices.IndexFunc(cfg.Agents, func(a config.Agent) bool { return a.ID == agent })
	if i < 0 {
		return nil, fmt.Errorf("no agent %q in the configuration, whose instructions the model would be given; name another with -c", agent)
	}
	chain, err := build.Chain(model, one)
	if err != nil {
		return nil, err
	}
	described, err := build.Described()
	if err != nil {
		return nil, err
	}
	r := &rerun{chain: chain, most: 64, req: llm.Request{System: cfg.Agents[i].Instructions}}
	if n := cfg.Agents[i].Limits.ModelCalls; n > 0 {
		r.most = n
	}
	if names := cfg.Agents[i].Tools; len(names) > 0 {
		for _, t := range described.For(tools.GrantOf(names...)) {
			r.req.Tools = append(r.req.Tools, llm.ToolDef{Name: t.Name, Description: t.Description, Schema: t.Schema})
		}
	}
	return r, nil
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

// A recording is a run as it was, with the tool results that its model got.
type recording struct {
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
func (t *recording) result(c llm.Part) llm.Part {
	got := llm.Part{Type: llm.ToolResult, Call: c.Call, Name: c.Name, Error: true, Text: "not replayed: the recorded run has no such call"}
	key := callText(c.Name, c.Args)
	if left := t.results[key]; len(left) > 0 {
		got.Text, got.Error = left[0].text, !left[0].ok
		t.results[key] = left[1:]
	}
	return got
}

func callText(name string, args json.RawMessage) string {
	var v any
	if json.Unmarshal(args, &v) == nil {
		if same, err := json.Marshal(v); err == nil { // keys in order
			args = same
		}
	}
	return name + " " + string(args)
}

// recordings are the runs of a log that have asked a model.
func recordings(facts []session.Fact) []*recording {
	var list []*recording
	var now *recording
	state := run.State{Phase: run.Idle}
	for _, f := range facts {
		e := f.Event
		if e.Type == run.Started && (state.Run == nil || state.Run.ID != e.Run) {
			now = &recording{
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
	return slices.DeleteFunc(list, func(t *recording) bool { return t.before == nil })
}

// note takes an event of the run down; state is what was before it.
func (t *recording) note(e run.Event, state run.State) {
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
		key := callText(e.Name, e.Args)
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

func (t *recording) message(m *llm.Message, state run.State) {
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
