// Package hooks lets others watch and change what a host does, at the points
// it names.
//
// A [Registry] holds handlers by the name of a point. Firing a point calls its
// handlers one after the other, the lowest priority first and, within one
// priority, in the order they were added. Each sees the arguments as the one
// before it left them. A handler that fails, panics or takes longer than its
// timeout delays no caller beyond that timeout and, unless it is to fail closed,
// changes nothing. A [Remote] handler asks a responder on NATS.
package hooks

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// A Call is one firing of a point, as a handler in the process and a remote
// one see it.
type Call struct {
	Hook    string `json:"hook"`
	Agent   string `json:"agent"`
	Session string `json:"session"`
	Run     string `json:"run"`
	Args    Args   `json:"args"`
	// TraceParent and TraceState are the trace context that the call belongs to,
	// which a remote handler gets as headers.
	TraceParent string `json:"-"`
	TraceState  string `json:"-"`
	// Changeable is what a handler may override; nil: any argument. It is for
	// the registry and is never sent.
	Changeable Changeable `json:"-"`
}

// Changeable are the arguments that the host takes changed, by name, each with
// a check of what it becomes. An override that a check refuses is a fault of
// its handler. One of any other argument changes nothing, and is logged.
type Changeable map[string]func(value json.RawMessage) error

// check finds the first change that the host could not use.
func (c Changeable) check(changes Args) error {
	for name, value := range changes {
		if check := c[name]; check != nil {
			if err := check(value); err != nil {
				return fmt.Errorf("override %q: %w", name, err)
			}
		}
	}
	return nil
}

// split takes from changes those that count. Refused are the others, without
// those that only repeat what was asked.
func (c Changeable) split(args, changes Args) (counting Args, refused []string) {
	if c == nil {
		return changes, nil
	}
	counting = Args{}
	for name, value := range changes {
		if _, ok := c[name]; ok {
			counting[name] = value
		} else if !same(args[name], value) {
			refused = append(refused, name)
		}
	}
	return counting, refused
}

// same compares JSON by what it says.
func same(a, b json.RawMessage) bool {
	var one, other any
	return json.Unmarshal(a, &one) == nil && json.Unmarshal(b, &other) == nil && reflect.DeepEqual(one, other)
}

// Args are the arguments of a call by name, each one JSON value. All handlers of
// a point are given the same map: it is not to be written to.
type Args map[string]json.RawMessage

// An Action is what a handler wants done.
type Action string

// The actions. The empty Action of an [Outcome] made in the process is
// Continue.
const (
	Continue Action = "continue"
	Override Action = "override"
	Abort    Action = "abort"
)

// An Outcome is the answer of a handler, and of all handlers of a point
// together. The zero Outcome continues.
type Outcome struct {
	Action Action `json:"action"`
	// Args are, with Override, the arguments that change; those not named stay
	// as they are.
	Args Args `json:"args,omitempty"`
	// Reason is, with Abort, one sentence for the person whose message this
	// concerns. Without one the host has a sentence of its own, in the language of the agent.
	Reason string `json:"reason,omitempty"`
	// Acts are, in what [Registry.Fire] returns, the handlers that did more than
	// continue, in their order. A handler leaves it empty.
	Acts []Act `json:"-"`
}

// Failed reports whether o is the Abort of a handler that has failed and is to fail
// closed, and not one that a handler wants.
func (o Outcome) Failed() bool {
	last := len(o.Acts) - 1
	return o.Action == Abort && last >= 0 && o.Acts[last].Err != nil
}

// An Act is what one handler did at a firing, other than to continue.
type Act struct {
	Handler string    // its label
	At      time.Time // when it ended
	// Action is Override or Abort; Continue: it failed, and Err is not nil.
	Action Action
	Args   []string // that an Override changed, sorted
	Reason string   // of an Abort
	Err    error    // why it failed; with Abort: and is to fail closed
}

// A Handler answers a call. ctx ends with the handler's timeout; a handler that
// goes on nevertheless is abandoned and its answer ignored.
type Handler func(ctx context.Context, call Call) (Outcome, error)

// A Hook is a handler and its place in the chain of a point, for a program that
// gives a host hooks of its own.
type Hook struct {
	Point    string // such as BeforeMessage
	Priority int    // the lowest is called first
	Name     string // for the log
	Handler  Handler
	Options
}

// DefaultTimeout is how long a handler may take when its options do not say.
const DefaultTimeout = 5 * time.Second

// Options say how a handler is called. The zero value is ready to use.
type Options struct {
	// Timeout bounds one call; 0 means DefaultTimeout.
	Timeout time.Duration
	// FailClosed turns an error, a panic or a timeout of a handler at a
	// before_* point, or at after_tool_call, into an Abort. Otherwise they count as Continue.
	FailClosed bool
	// Only, if set, reports whether the handler is called for a session of an
	// agent. It is called at each firing and must not wait.
	Only func(agent, session string) bool
}
