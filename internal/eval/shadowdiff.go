package eval

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/bus/records"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go/jetstream"
)

// A Pair is what an agent and its shadow made of the same message. When one
// run answered several, it is their last.
type Pair struct {
	Session string    `json:"session"`
	Input   string    `json:"input"` // its id
	At      time.Time `json:"at"`
	Text    string    `json:"text"`   // of the message
	Agent   AgentRun  `json:"agent"`  // of the original
	Shadow  *AgentRun `json:"shadow"` // nil: it has not come to it
	Same    bool      `json:"same"`   // they said the same
}

// An AgentRun is one run of one agent.
type AgentRun struct {
	Run     string      `json:"run"`
	Answer  string      `json:"answer"`
	Outcome run.Outcome `json:"outcome,omitempty"` // empty: it has not ended
	Tools   []ToolUse   `json:"tools,omitempty"`
	Calls   int         `json:"calls"` // of models
	Usage   llm.Usage   `json:"usage"`
	Cost    int64       `json:"cost"`             // micro-cents
	Priced  bool        `json:"priced,omitempty"` // false: the price of a call is not known
	MS      int64       `json:"ms"`               // from its start to its end

	session string
	inputs  []run.Input
	at      time.Time
	text    string
}

// A ToolUse is a call of a tool in a AgentRun.
type ToolUse struct {
	Name   string          `json:"name"`
	Args   json.RawMessage `json:"args,omitempty"`
	OK     bool            `json:"ok"`
	Result string          `json:"result,omitempty"`
	call   string
}

// ShadowDiff compares an agent with its shadow, by their logs: in one session,
// or in all when key is empty. Messages that only the shadow got are not in it.
func ShadowDiff(ctx context.Context, js jetstream.JetStream, agent, shadow, key string) ([]Pair, error) {
	store := &session.Store{Reader: records.NewReader(js), Files: filestore.New(js)}
	original, err := agentRuns(ctx, store, agent, key)
	if err != nil {
		return nil, err
	}
	copies, err := agentRuns(ctx, store, shadow, key)
	if err != nil {
		return nil, err
	}
	by := map[string]*AgentRun{} // the shadow's, by session and input
	for _, d := range copies {
		for _, in := range d.inputs {
			by[d.session+"\x00"+in.ID] = d
		}
	}
	pairs := []Pair{}
	for _, d := range original {
		if len(d.inputs) == 0 || addressed(d.inputs[0].Subject) { // what comes by route has no shadow
			continue
		}
		last := d.inputs[len(d.inputs)-1].ID
		p := Pair{Session: d.session, Input: last, At: d.at, Text: d.text, Agent: *d, Shadow: by[d.session+"\x00"+last]}
		p.Same = p.Shadow != nil && p.Shadow.Answer == d.Answer
		pairs = append(pairs, p)
	}
	return pairs, nil
}

// agentRuns reads the runs of an agent, in the order in which they began.
func agentRuns(ctx context.Context, store *session.Store, agent, key string) ([]*AgentRun, error) {
	sid := "*"
	if key != "" {
		sid = session.SID(agent, session.Key(key))
	}
	var list []*AgentRun
	byRun := map[string]*AgentRun{}
	for c, err := range store.Commits(ctx, session.Subject(agent, sid)) {
		if err != nil {
			return nil, fmt.Errorf("read the logs of %s: %w", agent, err)
		}
		for _, e := range c.Events {
			d := byRun[c.Run]
			if e.Type == run.Started && d == nil {
				d = &AgentRun{Run: e.Run, Priced: true, session: string(c.Key), at: e.At}
				byRun[e.Run], list = d, append(list, d)
			}
			if d != nil {
				d.add(e)
			}
		}
	}
	return list, nil
}

func (d *AgentRun) add(e run.Event) {
	switch e.Type {
	case run.Started:
		d.inputs = append(d.inputs, e.Inputs...)
	case run.InputAdded:
		if e.Run == d.Run && e.Input != nil { // it joined
			d.inputs = append(d.inputs, *e.Input)
		}
	case run.MessageAdded:
		if e.Message.Role == llm.User && d.text == "" {
			d.text = e.Message.Text()
		}
	case run.ModelCalled:
		if e.Skipped != "" {
			return
		}
		d.Calls++
		d.Cost += e.Cost
		d.Priced = d.Priced && e.Priced
		if e.Usage != nil {
			d.Usage.Input += e.Usage.Input
			d.Usage.Output += e.Usage.Output
			d.Usage.CacheRead += e.Usage.CacheRead
			d.Usage.CacheWrite += e.Usage.CacheWrite
			d.Usage.Reasoning += e.Usage.Reasoning
		}
	case run.ToolRequested:
		d.Tools = append(d.Tools, ToolUse{Name: e.Name, Args: e.Args, call: e.Call})
	case run.ToolFinished:
		for i := range d.Tools {
			if d.Tools[i].call == e.Call {
				d.Tools[i].OK, d.Tools[i].Result = e.OK, e.Result
			}
		}
	case run.Replied:
		d.setAnswer(e.Reply)
	case run.Finished:
		d.Outcome, d.MS = e.Outcome, e.At.Sub(d.at).Milliseconds()
	}
}

// setAnswer keeps the final reply of a run.
func (d *AgentRun) setAnswer(r *run.Reply) {
	out := bus.Outbound{}
	if r.Final && json.Unmarshal(r.Envelope, &out) == nil {
		d.Answer = out.Text
	}
}

// addressed reports whether a message was for one agent by its subject.
func addressed(subject string) bool {
	_, ok := bus.AgentOf(subject)
	return ok
}
