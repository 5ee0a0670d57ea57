package run

import (
	"cmp"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"agenthost/llm"
)

// An EventType names a fact of a session's log.
type EventType string

// The events. Old versions stay readable for ever: a type is never reused
// with another meaning and a field never changes its own.
const (
	Started          EventType = "run.started"
	InputAdded       EventType = "input.added"
	MessageAdded     EventType = "message"
	ModelCalled      EventType = "model.called"
	ToolRequested    EventType = "tool.requested"
	ToolFinished     EventType = "tool.finished"
	ApprovalAsked    EventType = "approval.asked"
	ApprovalAnswered EventType = "approval.answered"
	QuestionAsked    EventType = "question.asked"
	QuestionAnswered EventType = "question.answered"
	Delegated        EventType = "delegated"
	Replied          EventType = "reply"
	InputRefused     EventType = "input.refused"   // it was answered with an error, outside of any run
	InputMoved       EventType = "input.moved"     // the result of a task that waits, or is under way, is to go to another subject
	InputWithdrawn   EventType = "input.withdrawn" // its sender has withdrawn it, or it is what withdrew another
	InputPassedOn    EventType = "input.passed_on" // it was for a run of another session, and its sender was told so
	InputTaken       EventType = "input.taken"     // it was the answer to a question of a tool at work
	OperatorJoined   EventType = "operator.joined" // an operator has taken the chat over
	OperatorHeard    EventType = "operator.heard"  // a message came meanwhile, which no run takes
	OperatorSaid     EventType = "operator.said"
	OperatorLeft     EventType = "operator.left"
	Compacted        EventType = "compacted"
	Suspended        EventType = "run.suspended"
	Finished         EventType = "run.finished"
)

// Known reports whether this version knows the events of a type. Those that it does not know, of a
// newer version, it passes over, but for the end of an input: see [Event.Ends].
func (t EventType) Known() bool {
	switch t {
	case Started, InputAdded, MessageAdded, ModelCalled, ToolRequested, ToolFinished,
		ApprovalAsked, ApprovalAnswered, QuestionAsked, QuestionAnswered, Delegated, Replied,
		InputRefused, InputMoved, InputWithdrawn, InputPassedOn, InputTaken,
		OperatorJoined, OperatorHeard, OperatorSaid, OperatorLeft, Compacted, Suspended, Finished:
		return true
	}
	return false
}

// Ends reports whether an event is the end of its input, which gets no run. One of a newer version is
// if it has a reply to it.
func (e *Event) Ends() bool {
	switch e.Type {
	case InputRefused, InputWithdrawn, InputPassedOn:
		return true
	}
	return e.Input != nil && e.Reply != nil && !e.Type.Known()
}

// An Event is one fact. Type says which fields count; the rest are empty and
// are not written.
type Event struct {
	Type EventType `json:"type"`
	At   time.Time `json:"at"`

	// run.started, run.finished; Inputs has the id alone in input.moved; input.added when the input joins a running run
	Run     string  `json:"run,omitempty"`
	Trigger Trigger `json:"trigger,omitempty"`
	Inputs  []Input `json:"inputs,omitempty"`
	// Attempt is the number of the try, of a run (from 1; 0 is a first try that
	// was not counted) or of a model call.
	Attempt int `json:"attempt,omitempty"`
	// Handed is how many of the tries of the run before this one ended because
	// their host stopped in order, so they count against no run.
	Handed int `json:"handed,omitempty"`
	// Lost is what was reserved for the calls of the tries before that died with
	// their hosts, all of them together, in micro-cents. It counts as spent.
	Lost int64 `json:"lost,omitempty"`
	// Input is what input.added adds, and input.refused and input.passed_on end. In the other events it is the message that
	// brought the answer, the result or the order to stop.
	Input *Input `json:"input,omitempty"`
	// Since is where the stretch of refused messages begins that Input ends: all of
	// this session from that sequence of AGENT_INBOUND on were refused. 0: Input alone.
	Since uint64 `json:"since,omitempty"` // input.refused

	Message *llm.Message `json:"message,omitempty"` // message; input.added that joins a running run; operator.*

	// Address is where the operator's words go from now on: operator.joined, operator.heard.
	Address *Address `json:"address,omitempty"`

	// model.called
	Provider string     `json:"provider,omitempty"`
	Model    string     `json:"model,omitempty"`
	Entry    string     `json:"entry,omitempty"`   // the model's name in the configuration
	Status   int        `json:"status,omitempty"`  // of HTTP, of a call that failed by one
	Reason   string     `json:"reason,omitempty"`  // in words, why it failed or was passed over
	Skipped  string     `json:"skipped,omitempty"` // why the model was passed over
	Usage    *llm.Usage `json:"usage,omitempty"`
	Cost     int64      `json:"cost,omitempty"` // micro-cents
	Priced   bool       `json:"priced,omitempty"`
	MS       int64      `json:"ms,omitempty"`
	// Guess is the estimate of what Usage has counted as its input; 0 when that
	// was not the conversation itself.
	Guess int `json:"guess,omitempty"`

	// tool.*, approval.*, question.*, delegated
	Call string `json:"call,omitempty"`
	// For is Budget where an approval is not for the call of a tool but for the
	// next call of the model, which would go beyond a budget.
	For  string `json:"for,omitempty"`
	Name string `json:"name,omitempty"`
	// Args are what the model asked for; in approval.asked what the approval
	// shows and what will run, in approval.answered what the person wants to run,
	// where that is something else.
	Args    json.RawMessage `json:"args,omitempty"`
	Rerun   string          `json:"rerun,omitempty"` // "safe", or empty
	OK      bool            `json:"ok,omitempty"`
	Result  string          `json:"result,omitempty"`
	Source  string          `json:"source,omitempty"` // tool.finished: FromTool, FromRecovery, …
	Prompt  string          `json:"prompt,omitempty"`
	Options []string        `json:"options,omitempty"`
	// Default is the answer to a question that gets none before its deadline; empty:
	// none, and in old logs.
	Default string `json:"default,omitempty"`
	Answer  string `json:"answer,omitempty"`
	By      string `json:"by,omitempty"`
	Scope   string `json:"scope,omitempty"`
	// Door is by which way the answer, or the order to stop, came: the subject of a
	// chat, cli, api, nats or deadline.
	Door     string    `json:"door,omitempty"`
	Deadline time.Time `json:"deadline,omitzero"`
	// Number is what a person calls the question by where several are open in a
	// chat; 0: it was the only one.
	Number int `json:"number,omitempty"`
	// Newest is the sequence in AGENT_INBOUND of the last message that had come when
	// the question was asked: what came before it is not its answer.
	Newest uint64 `json:"newest,omitempty"`
	// Wait is the random part of the id that an answer needs; in old logs it is
	// empty, and the id follows from run and call.
	Wait string `json:"wait,omitempty"`

	To            string          `json:"to,omitempty"` // delegated, input.moved
	CorrelationID string          `json:"correlation_id,omitempty"`
	Context       json.RawMessage `json:"context,omitempty"` // what the other agent has to know

	Reply *Reply `json:"reply,omitempty"` // reply, input.refused, input.passed_on, operator.said

	// compacted: Through messages, counted from the oldest in the state,
	// became Summary.
	Through int    `json:"through,omitempty"`
	Summary string `json:"summary,omitempty"`
	Before  int    `json:"before,omitempty"` // estimated tokens
	After   int    `json:"after,omitempty"`

	Waiting []string `json:"waiting,omitempty"` // run.suspended: the calls waited for

	Outcome Outcome `json:"outcome,omitempty"` // run.finished
	Error   *Error  `json:"error,omitempty"`   // run.finished, model.called

	// Hooks are what hooks did, other than to continue, on the way to this event. The
	// machine neither makes nor reads them. What they did to a message is in its Input.
	Hooks []HookAct `json:"hooks,omitempty"` // model.called, tool.finished, *.asked, delegated, run.finished
}

// HookActs are what hooks did for the event and for the messages in it. What they did to
// a message that waited for its turn is that of the event with which it began to wait.
func (e *Event) HookActs() []HookAct {
	acts := slices.Clip(e.Hooks)
	if e.Input != nil {
		acts = append(acts, e.Input.Hooks...)
	}
	for i := range e.Inputs {
		if !e.Inputs[i].Checked {
			acts = append(acts, e.Inputs[i].Hooks...)
		}
	}
	return acts
}

// A HookAct is what one hook did, other than to continue.
type HookAct struct {
	At     time.Time `json:"at"`
	Point  string    `json:"point"`            // such as before_tool_call
	Hook   string    `json:"hook"`             // its subject, or its name in the program
	Action string    `json:"action"`           // HookOverrode, HookAborted or HookFailed
	Call   string    `json:"call,omitempty"`   // of the tool
	Args   []string  `json:"args,omitempty"`   // the names of the arguments that it changed
	Reason string    `json:"reason,omitempty"` // of an abort, as it was given
	Error  string    `json:"error,omitempty"`  // why it failed; with HookAborted: and is to fail closed
}

// What stands in Action of a HookAct.
const (
	HookOverrode = "override"
	HookAborted  = "abort"
	HookFailed   = "failed" // which counts as to continue
)

// What stands in Source of a tool.finished: who made the result.
const (
	FromTool       = "tool"
	FromCorrection = "correction"  // the call could not be run as asked
	FromRecovery   = "interrupted" // the host died while it ran
	FromDenial     = "denied"
	FromAnswer     = "answer"    // of the person asked
	FromDelegate   = "delegate"  // the agent that was asked
	FromEnd        = "cancelled" // the run ended first
)

// A Trigger says what made a run.
type Trigger string

// The triggers.
const (
	ByMessage   Trigger = "message"
	ByDelegate  Trigger = "delegate"
	BySchedule  Trigger = "schedule"
	ByEvent     Trigger = "event"
	ByHeartbeat Trigger = "heartbeat"
)

// An Input is a message that came in, as it came in.
type Input struct {
	ID       string          `json:"id"`
	Subject  string          `json:"subject"`
	Seq      uint64          `json:"seq"` // in the stream that brought it
	Envelope json.RawMessage `json:"envelope"`
	Trace    string          `json:"trace,omitempty"` // traceparent
	State    string          `json:"state,omitempty"` // tracestate
	// Sent is the id that its sender gave it, where ID names the sender's account as well:
	// accounts that are one session may use the same ids.
	Sent string `json:"sent,omitempty"`
	// Checked says of an input that waits in the log that the before_message hooks
	// have seen it: Envelope is what they left of it.
	Checked bool `json:"checked,omitempty"`
	// Hooks are what the before_message hooks did with it.
	Hooks []HookAct `json:"hooks,omitempty"`
}

// OwnID is the id by which its sender knows it.
func (in *Input) OwnID() string { return cmp.Or(in.Sent, in.ID) }

// Brief is what names it, without what it says.
func (in *Input) Brief() *Input {
	return &Input{ID: in.ID, Subject: in.Subject, Seq: in.Seq, Sent: in.Sent}
}

// A Reply is what the run says to the outside. The machine sets everything
// but ID, Subject and Envelope; the conductor, who knows the address, adds
// these before the commit, so that the log holds the very bytes that are
// published.
type Reply struct {
	ID       string          `json:"id,omitempty"`
	N        int             `json:"n"`
	Kind     string          `json:"kind"`
	Text     string          `json:"-"`
	Media    []*llm.Media    `json:"-"`
	Cut      bool            `json:"-"` // the model ended it at its longest length
	Call     string          `json:"-"`
	Wait     string          `json:"-"` // of the call
	Options  []string        `json:"-"`
	Final    bool            `json:"final,omitempty"`
	Error    *Error          `json:"-"`
	Subject  string          `json:"subject,omitempty"`
	Envelope json.RawMessage `json:"envelope,omitempty"`
}

// The kinds of replies.
const (
	KindReply    = "reply"
	KindNotice   = "notice" // no reply to a message
	KindQuestion = "question"
	KindApproval = "approval"
	KindError    = "error"
)

// An Outcome is how a run ended.
type Outcome string

// The outcomes.
const (
	OutcomeSettled Outcome = "settled"
	OutcomeFailed  Outcome = "failed"
	OutcomeStopped Outcome = "stopped"
)

// An Error is a code of the closed set with a sentence fit to show a person.
type Error struct {
	Code    llm.Code `json:"code"`
	Message string   `json:"message"`
}

// eventArrays are those of commits that are stored: an Event is large, and most
// of what a run allocates. A plain answer fits, and a second attempt of it. They
// are empty: what is made in them sets only what it has.
var eventArrays = sync.Pool{New: func() any { return new([8]Event) }}

func newEvents() []Event { return eventArrays.Get().(*[8]Event)[:0] }

// Recycle takes back the Events of a Commit, once it has been performed. They must
// not be used afterwards.
func Recycle(events []Event) {
	if cap(events) != len([8]Event{}) { // it has grown
		return
	}
	array := (*[8]Event)(events[:cap(events)])
	clear(array[:len(events)])
	eventArrays.Put(array)
}
