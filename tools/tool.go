// Package tools is what agents can do besides talking: the tools, the registry
// that knows them all, the check of their arguments and the policy that says
// which may run. The folders below it are one source of tools each.
package tools

import (
	"context"
	"encoding/json"
	"time"
)

// A Tool is one thing an agent can do. The zero values of its fields mean: no
// arguments, reads only is not known, not safe to run again, DefaultTimeout.
type Tool struct {
	Name        string // "read_file", "billing.charge"
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments; nil: an object without any
	Source      string          // where it is from, for people: `built in`, `mcp server "wiki"`, `service "billing"`

	// ReadOnly says that it changes nothing anywhere. What is not read-only
	// asks a person before it runs, unless the policy says otherwise.
	ReadOnly bool
	// Keeps says that it stores data of the agent's own, which needs no approval
	// and so goes with ReadOnly. A shadow stores nothing.
	Keeps bool
	// Rerun says that it may run again under the same call id when its host
	// died while it ran.
	Rerun bool
	// Timeout bounds one call; 0: DefaultTimeout. The time that a call waits for a
	// person or another agent does not count.
	Timeout time.Duration
	// Commands returns the command line in the arguments of a tool that runs
	// commands, so that the policy can look at it; nil for all others.
	Commands func(args json.RawMessage) string
	// Unconfined returns why what the tool runs is not confined on this machine,
	// so that each call needs an approval, or "" when it is; nil: it is.
	Unconfined func() string
	// Outward returns where a call sends what is in its arguments, of a tool that
	// only reads but by that could give away what the model knows; nil for all
	// others. Such a call asks unless its destination is open.
	Outward func(args json.RawMessage) Destination

	// Preview is what a person reads about a call that they are asked to approve; nil:
	// the tool's name and the arguments. It has to show all that is to be approved.
	Preview func(ctx context.Context, call Call) Preview
	// Asks says that Run mostly returns a question to a person, at once.
	Asks bool

	// Run does it. The error, if any, is told to the model like a result. Run
	// returns soon after ctx has ended, whatever it was doing.
	Run func(ctx context.Context, call Call) (Result, error)
}

// A Preview words a call for a person who has to approve it.
type Preview struct {
	// Sentence is one of the tool's own, such as "{agent} wants to refund {amount}.", or
	// the key of one of the host's. {agent} is the agent's name.
	Sentence string
	Values   map[string]string // of the other placeholders
	Bytes    int               // what {size} stands for, in words
	Detail   string            // below the sentence, such as a diff
}

// A Destination is where a call sends something.
type Destination struct {
	Address string // all of it, as the arguments have it
	Host    string // with its port; empty when the address has none
	Open    bool   // the configuration lets every call send there
}

// DefaultTimeout is how long a tool may run that does not say.
const DefaultTimeout = 60 * time.Second

// A Call is one use of a tool by an agent. ID is the same when the call is made
// again after a crash, and no other call of the fleet has it.
type Call struct {
	ID      string
	Agent   string
	Session string // the session's key
	Run     string
	Name    string
	Args    json.RawMessage
	Chat    Chat
	// Chain are the agents through whose work the call came about, the one that
	// makes it at the end.
	Chain []string
	// TraceParent and TraceState are the trace context that the call belongs to,
	// which goes on to servers and services.
	TraceParent, TraceState string
	// Progress publishes how far a long call is, on the stream of the session; never nil.
	Progress func(text string)
}

// A Chat is where the person is whose message led to a call; the zero Chat when
// there is none.
type Chat struct {
	Session string // the key of the session of that chat
	Subject string // where what is said to it is published
	To      string
	Chat    string
	Thread  string
}

// A Result is what a tool answers.
type Result struct {
	Text string
	// Failed marks the result as an error for the model.
	Failed bool
	// Wait, when set, says that there is no result yet: a person or another agent
	// has to answer first. Text is not used then.
	Wait *Wait
}

// ForClient is the Context of a Wait for a tool that a door's client runs itself.
const ForClient = `{"for":"client"}`

// A Wait is what a call waits for.
type Wait struct {
	// Question asks a person; To hands Prompt to another agent. One of the two.
	Question bool
	To       string

	Prompt  string
	Options []string
	Default string          // the answer when none comes in time; empty: none
	Timeout time.Duration   // 0: the policy's
	Context json.RawMessage // for the other agent, or ForClient
}
