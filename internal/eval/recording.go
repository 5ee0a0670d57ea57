package eval

import (
	"cmp"
	"encoding/json"
	"slices"

	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

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

// recordings are the runs of a log that have asked a model at facts[from] or later, with
// what they did from there on.
func recordings(facts []session.Fact, from int) []*recording {
	var list []*recording
	var now *recording
	state := run.State{Phase: run.Idle}
	for i, f := range facts {
		e := f.Event
		if e.Type == run.Started && (state.Run == nil || state.Run.ID != e.Run) {
			now = &recording{
				Comparison: Comparison{Run: e.Run, Seq: f.Seq}, results: map[string][]outcome{},
				tools: map[string]bool{}, open: map[string]string{},
			}
			list = append(list, now)
		}
		if now != nil && i < from {
			now.pass(e)
		} else if now != nil {
			now.note(e, state)
		}
		if e.Type == run.Finished {
			now = nil
		}
		state = run.Fold(state, e)
	}
	return slices.DeleteFunc(list, func(t *recording) bool { return t.before == nil })
}

// pass takes down what of an event the model has to know that goes on behind it: the
// conversation has the rest.
func (t *recording) pass(e run.Event) {
	switch {
	case e.Type == run.MessageAdded && e.Message != nil && e.Message.Role == llm.User:
		t.Said = cmp.Or(t.Said, e.Message.Text())
	case e.Type == run.ToolRequested:
		t.tools[e.Name] = true
	}
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
		if key, ok := t.open[e.Call]; ok { // else it was asked for before, and the conversation has it
			t.results[key] = append(t.results[key], outcome{e.Result, e.OK})
		}
	case run.Finished:
		if e.Error != nil {
			t.Then.Error = e.Error.Message
		}
	}
}

func (t *recording) message(m *llm.Message, state run.State) {
	switch {
	case m == nil:
	case m.Role == llm.User:
		t.Said = cmp.Or(t.Said, m.Text())
	case m.Role == llm.Assistant:
		if t.before == nil {
			t.before = slices.Clone(state.Messages)
		}
		t.Then.Text = m.Text()
	}
}
