package inflight

import (
	"slices"
	"sync"
	"time"

	"agenthost/agents/internal/message"
	"agenthost/agents/internal/profile"
	"agenthost/agents/internal/tracing"
	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"
)

// A Run is a run in progress.
type Run struct {
	Session
	ID      string
	Profile *profile.Profile // of the turn; changes only while nothing is under way
	Journal *session.Log
	Items   []*message.Item // those whose messages are held
	Inputs  []run.Input     // all that the run answers
	Trace   tracing.Context
	Forced  []string // the ids, as they were sent, of the messages that ordered once more that it stop, and so forced its end

	mu    sync.Mutex    // of what tools under way read and write, Items and Inputs included
	entry string        // of the model that is asked
	acts  []run.HookAct // what hooks did, for the next commit
}

// Prepare makes the run one that answers the inputs of items, in the trace of the last.
func (t *Run) Prepare(items []*message.Item) {
	t.Items = items
	inputs := make([]run.Input, len(items))
	for i, it := range items {
		inputs[i] = it.Input
	}
	t.Inputs, t.Trace = inputs, tracing.Of(inputs)
	t.Refresh()
}

// AddInput adds an input to those that the run answers.
func (t *Run) AddInput(in run.Input) {
	t.mu.Lock()
	t.Inputs = append(t.Inputs, in)
	t.mu.Unlock()
}

// SetInput puts an input in the place of another.
func (t *Run) SetInput(i int, in run.Input) {
	t.mu.Lock()
	t.Inputs[i] = in
	t.mu.Unlock()
}

// Entry is the model that is asked, or was last; empty when none was.
func (t *Run) Entry() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entry
}

// Origin is where the last input of the run comes from.
func (t *Run) Origin() (message.Origin, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.Items); n > 0 && t.Items[n-1].Input.ID == t.Inputs[len(t.Inputs)-1].ID {
		return t.Items[n-1].Origin, nil
	}
	return message.ReadOrigin(t.Inputs[len(t.Inputs)-1])
}

// Last is the last input of the run.
func (t *Run) Last() run.Input {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.Inputs[len(t.Inputs)-1]
}

// TakeUp makes the run one that goes on with left. It stays in its trace, whatever has joined it.
func (t *Run) TakeUp(left *run.Run) {
	t.Inputs, t.Trace = left.Inputs, tracing.Of(left.Begun())
	t.Refresh()
}

// Takes reports whether the run answers the input with that id, or has taken it as an answer.
func (t *Run) Takes(id string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.Inputs, func(in run.Input) bool { return in.ID == id }) ||
		slices.ContainsFunc(t.Items, func(it *message.Item) bool { return it.Input.ID == id })
}

// Join adds an item to those of the run. Tools under way may look for where it
// comes from.
func (t *Run) Join(it *message.Item) {
	t.mu.Lock()
	t.Items = append(t.Items, it)
	t.mu.Unlock()
}

// AllInputs are those that the run answers, and what has come into it since, such as answers.
func (t *Run) AllInputs() []run.Input {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := slices.Clone(t.Inputs)
	for _, it := range t.Items {
		list = append(list, it.Input)
	}
	return list
}

// Messages are the items that say something of their own.
func (t *Run) Messages() (list []*message.Item) {
	for _, it := range t.Items {
		if !it.Changes() {
			list = append(list, it)
		}
	}
	return list
}

// Chain are the agents that this run works for, and its own at the end.
func (t *Run) Chain() []string {
	var chain []string
	if o, err := t.Origin(); err == nil && o.Route != nil {
		chain = slices.Clone(o.Route.Chain)
	}
	return append(chain, t.Agent.ID)
}

// Deadline is when the run is cut off, by the task that it works on; zero: it works on none,
// or on one with all the time it wants.
func (t *Run) Deadline() time.Time {
	if o, err := t.Origin(); err == nil && o.Route != nil {
		return o.Route.Deadline
	}
	return time.Time{}
}

// Until is when who has asked for the task waits no longer: its timer knows no parts of a
// second. What the run asks a person has to be answered by then. It is zero where Deadline is.
func (t *Run) Until() time.Time {
	if end := t.Deadline(); !end.IsZero() {
		return end.Truncate(time.Second)
	}
	return time.Time{}
}

// Overtime reports whether who has asked for the task waits no longer.
func (t *Run) Overtime() bool {
	end := t.Until()
	return !end.IsZero() && !time.Now().Before(end)
}

// Earlier is the earlier of two times, of which end may be none.
func Earlier(at, end time.Time) time.Time {
	if !end.IsZero() && end.Before(at) {
		return end
	}
	return at
}

// Person is where the person is whose message led to this run, if one did.
func (t *Run) Person() *bus.Origin {
	o, err := t.Origin()
	if err != nil {
		return nil
	}
	if o.Route != nil {
		return o.Route.Origin
	}
	last := t.Last()
	return &bus.Origin{
		Agent: t.Agent.ID, Session: string(t.Key),
		Subject: o.Outbound(),
		To:      message.Sender(o.Inbound), Chat: o.Inbound.Chat, Thread: o.Inbound.Thread,
		ReplyTo: last.OwnID(),
	}
}

// Chat is where the person is, as tools are told.
func (t *Run) Chat() tools.Chat {
	p := t.Person()
	if p == nil || p.Agent != t.Agent.ID {
		return tools.Chat{}
	}
	return tools.Chat{Session: p.Session, Subject: p.Subject, To: p.To, Chat: p.Chat, Thread: p.Thread}
}

// Line is where calls of this run wait when a model has no room: sessions of
// all agents share its models.
func (t *Run) Line() string { return t.Agent.ID + "/" + string(t.Key) }

// Asked notes which model is asked for the run.
func (t *Run) Asked(l llm.Link) {
	name := l.Name
	if l.Gate != nil {
		name = l.Gate.Name()
	}
	t.mu.Lock()
	t.entry = name
	t.mu.Unlock()
}

// LastModel is the entry that was asked last for the run. Of a run that was asked for by
// another host it is the first that its agent asks.
func (t *Run) LastModel() string {
	entry := t.Entry()
	if models := t.Profile.Config.Model; entry == "" && len(models) > 0 {
		return models[0]
	}
	return entry
}
