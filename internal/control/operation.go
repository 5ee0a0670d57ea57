package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"time"

	"agenthost/bus"
	"agenthost/bus/microservice"
	"agenthost/client"
	"agenthost/internal/tokens"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// An Operation is something that programs can ask of a host.
type Operation struct {
	Name    string // letters, digits, - and _
	Subject string // of the request on NATS
	About   string
	// Path is below /api, where it is asked over HTTP; empty: only over NATS.
	Path string
	// Changes says that it changes something: over HTTP it is a POST for admins, and
	// the audit log has it. Else it is a GET for all who may read.
	Changes bool
	// Admin says that only admins may read it over HTTP.
	Admin bool
	// Whole says that it concerns the whole fleet: callers with some of the agents
	// may not do it. Any other operation shows them these agents only.
	Whole bool
	// Elsewhere says that the host that carries it out writes the audit log.
	Elsewhere bool
	// Record writes what was done into the audit log; nil: nowhere.
	Record Recorder
	// Do carries it out: JSON in, what is JSON out.
	Do Func
	// HTTP is done in place of Do where one answer speaks for all hosts.
	HTTP Func

	All      bool          // every host answers; else one of the fleet does
	Notice   bool          // a message without a reply subject counts, and only errors are answered
	Required bool          // an empty request is an error; else it is one for the defaults
	InOrder  bool          // one request after the other; else all at once
	Within   time.Duration // bounds each request
}

const (
	// orderWithin bounds what only puts a message into its stream: requests wait
	// for each other.
	orderWithin = 5 * time.Second
	// reportWithin bounds what is done to sessions and dead letters: a deletion
	// may have to read all of them.
	reportWithin = time.Minute
	// playWithin bounds what asks models.
	playWithin = 2 * time.Minute
)

// report is an operation that looks something up, or takes its time.
func report(o Operation) Operation {
	o.Within = reportWithin
	return o
}

// order is an operation that changes something at once; its requests count in
// the order in which they come.
func order(o Operation) Operation {
	o.Within, o.Required, o.InOrder = orderWithin, true, true
	return o
}

// status is an operation that reports what this host is doing.
func status(o Operation) Operation {
	o.Within, o.All, o.InOrder = reportWithin, true, true
	return o
}

// A none is the request of an operation that needs to know nothing.
type none struct{}

// A Func is what an operation does, with the types of its request and its answer.
type Func struct {
	Call    func(ctx context.Context, request []byte) (any, error) // JSON in, what is JSON out
	In, Out reflect.Type
}

// do makes a function the Do of an operation. A request says what differs from
// defaults.
func do[In, Out any](defaults In, f func(context.Context, In) (Out, error)) Func {
	call := func(ctx context.Context, request []byte) (any, error) {
		in := defaults
		if _, ignored := any(in).(none); !ignored && len(request) > 0 {
			if err := json.Unmarshal(request, &in); err != nil {
				return nil, badRequest(requestFault(err))
			}
		}
		return f(ctx, in)
	}
	return Func{call, reflect.TypeFor[In](), reflect.TypeFor[Out]()}
}

// Done is the answer of an operation without a result.
type Done struct {
	OK bool `json:"ok"`
}

// done is do for a function that only may fail.
func done[In any](defaults In, f func(context.Context, In) error) Func {
	return do(defaults, func(ctx context.Context, in In) (Done, error) { return Done{true}, f(ctx, in) })
}

// An Answers is several answers to one request, each in a message of its own.
type Answers []any

// run carries an operation out.
func (o Operation) run(ctx context.Context, request []byte) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, o.Within)
	defer cancel()
	if len(request) == 0 && o.Required {
		return nil, badRequest("it is empty; want a JSON object")
	}
	if _, err := namedAgent(request); err != nil {
		return nil, err
	}
	out, err := o.Do.Call(ctx, request)
	if err == nil {
		o.record(ctx, request)
	}
	return out, err
}

// Served is what is done over HTTP.
func (o Operation) Served() Func {
	if o.HTTP.Call != nil {
		return o.HTTP
	}
	return o.Do
}

// Ask carries an operation out for a caller, over another door than NATS.
func (o Operation) Ask(ctx context.Context, c Caller, request []byte) (any, error) {
	if c.limited() && o.Whole {
		return nil, errWhole
	}
	ctx = WithCaller(ctx, c)
	agent, err := namedAgent(request)
	if err == nil && agent != "" {
		err = reach(ctx, agent)
	}
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, max(o.Within, reportWithin))
	defer cancel()
	out, err := o.Served().Call(ctx, request)
	if err == nil && o.HTTP.Call == nil { // else the hosts that are asked note it
		o.record(ctx, request)
	}
	return out, err
}

var isAgent = regexp.MustCompile(`^[a-z0-9_-]{1,63}$`)

// namedAgent is the agent that a request names, if it does. It becomes a part of subjects,
// so one that no agent can have is an error.
func namedAgent(request []byte) (string, error) {
	named := struct {
		Agent string `json:"agent"`
	}{}
	if json.Unmarshal(request, &named) != nil {
		return "", nil //nolint:nilerr // what reads the whole says so
	}
	if named.Agent != "" && !isAgent.MatchString(named.Agent) {
		return "", coded(client.CodeBad, "agent %q: want 1 to 63 of a-z, 0-9, _ and -", named.Agent)
	}
	return named.Agent, nil
}

// CodeOf is the code of an error of an operation, as HTTP has them.
func CodeOf(err error) string { return codeOf(err) }

// endpoint puts an operation on NATS; work holds the requests in progress.
func (o Operation) endpoint(work *requests) microservice.Endpoint {
	serve := func(req micro.Request) { respond(req, o) }
	return microservice.Endpoint{
		Name: o.Name, Subject: o.Subject, Description: o.About, All: o.All, Notice: o.Notice,
		Handler: micro.HandlerFunc(func(req micro.Request) {
			if !work.begin() {
				return
			}
			answer := func() {
				defer work.done()
				serve(req)
			}
			if o.InOrder {
				answer()
				return
			}
			go answer()
		}),
	}
}

// respond answers a request; the client may be gone.
func respond(req micro.Request, o Operation) {
	out, err := o.run(WithCaller(context.Background(), callerOn(req)), req.Data())
	if o.Notice && err == nil {
		return
	}
	if several, ok := out.(Answers); ok && err == nil {
		for _, one := range several {
			_ = req.RespondJSON(one)
		}
		return
	}
	if err == nil {
		err = req.RespondJSON(out) // which may be too large
	}
	if err != nil && !errors.Is(err, errElsewhere) {
		_ = req.Error(codeOf(err), err.Error(), nil)
	}
}

// errElsewhere is not answered: another host is meant, which does.
var errElsewhere = errors.New("this is another host")

// A codedError is an error with a code as HTTP has them.
type codedError struct {
	code string
	error
}

func coded(code, format string, args ...any) error {
	return codedError{code, fmt.Errorf(format, args...)}
}

// wrong is the error of a message that was to be stored, with the code of a wrong request
// where no host could take what the request has in it.
func wrong(err error) error {
	if errors.Is(err, bus.ErrMalformed) || errors.Is(err, nats.ErrMaxPayload) {
		return coded(client.CodeBad, "%w", err)
	}
	return err
}

func badRequest(why string) error { return coded(client.CodeBad, "request: %s", why) }

// requestFault says what is wrong with the JSON of a request.
func requestFault(err error) string {
	why := bus.JSONFault(err)
	if typ, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && typ.Field == "" {
		why += "; want a JSON object"
	}
	return why
}

func codeOf(err error) string {
	why, ok := errors.AsType[codedError](err)
	switch {
	case ok:
		return why.code
	case errors.As(err, &tokens.InvalidError{}), errors.Is(err, client.ErrNotUnique):
		return client.CodeBad
	case errors.Is(err, tokens.ErrTaken), errors.Is(err, tokens.ErrConfigured):
		return client.CodeBusy
	case errors.Is(err, tokens.ErrUnknown), errors.Is(err, session.ErrNoSession), errors.Is(err, session.ErrNoPlace), errors.Is(err, client.ErrNoDeadLetter), errors.Is(err, client.ErrNoCode), isUnknown(err):
		return client.CodeNotFound
	case errors.Is(err, session.ErrRunning), errors.Is(err, session.ErrTaken):
		return client.CodeBusy
	}
	return client.CodeUnavailable
}

func isUnknown(err error) bool {
	_, ok := errors.AsType[*client.UnknownError](err)
	return ok
}
