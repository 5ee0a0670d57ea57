package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"agenthost/bus/microservice"
	"agenthost/client"
	"agenthost/session"

	"github.com/nats-io/nats.go/micro"
)

// An Operation is something that programs can ask of a host.
type Operation struct {
	Name    string // letters, digits, - and _
	Subject string // of the request on NATS
	About   string
	// Do carries it out: JSON in, what is JSON out.
	Do func(ctx context.Context, request []byte) (any, error)

	All      bool          // every host answers; else one of the fleet does
	Notice   bool          // a message without a reply subject counts, and none is answered
	Silent   bool          // errors are not answered: another host may know
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

// status is an operation that tells what this host is doing.
func status(o Operation) Operation {
	o.Within, o.All, o.InOrder = reportWithin, true, true
	return o
}

// A none is the request of an operation that needs to know nothing.
type none struct{}

// do makes a function the Do of an operation. A request says what differs from
// defaults.
func do[In, Out any](defaults In, f func(context.Context, In) (Out, error)) func(context.Context, []byte) (any, error) {
	return func(ctx context.Context, request []byte) (any, error) {
		in := defaults
		if _, ignored := any(in).(none); !ignored && len(request) > 0 {
			if err := json.Unmarshal(request, &in); err != nil {
				return nil, badRequest(err)
			}
		}
		return f(ctx, in)
	}
}

// Done is the answer of an operation that has nothing to tell.
type Done struct {
	OK bool `json:"ok"`
}

// done is do for a function that only may fail.
func done[In any](defaults In, f func(context.Context, In) error) func(context.Context, []byte) (any, error) {
	return do(defaults, func(ctx context.Context, in In) (Done, error) { return Done{true}, f(ctx, in) })
}

// An Answers is several answers to one request, each in a message of its own.
type Answers []any

// run carries an operation out.
func (o Operation) run(request []byte) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), o.Within)
	defer cancel()
	if len(request) == 0 && o.Required {
		return nil, badRequest(json.Unmarshal(nil, &none{}))
	}
	return o.Do(ctx, request)
}

// endpoint puts an operation on NATS; work holds the requests in progress.
func (o Operation) endpoint(work *sync.WaitGroup) microservice.Endpoint {
	serve := func(req micro.Request) { respond(req, o) }
	return microservice.Endpoint{
		Name: o.Name, Subject: o.Subject, Description: o.About, All: o.All, Notice: o.Notice,
		Handler: micro.HandlerFunc(func(req micro.Request) {
			if o.InOrder {
				work.Add(1)
				defer work.Done()
				serve(req)
				return
			}
			work.Go(func() { serve(req) })
		}),
	}
}

// respond answers a request; the client may be gone.
func respond(req micro.Request, o Operation) {
	out, err := o.run(req.Data())
	if o.Notice {
		return
	}
	if several, ok := out.(Answers); ok {
		for _, one := range several {
			_ = req.RespondJSON(one)
		}
		return
	}
	if err == nil {
		err = req.RespondJSON(out) // which may be too large
	}
	if err != nil && !o.Silent {
		_ = req.Error(codeOf(err), err.Error(), nil)
	}
}

// A codedError is an error with a code as HTTP has them.
type codedError struct {
	code string
	error
}

func coded(code, format string, args ...any) error {
	return codedError{code, fmt.Errorf(format, args...)}
}

func badRequest(err error) error { return coded(client.CodeBad, "request: %w", err) }

func codeOf(err error) string {
	why, ok := errors.AsType[codedError](err)
	switch {
	case ok:
		return why.code
	case errors.Is(err, session.ErrNoSession), errors.Is(err, client.ErrNoDeadLetter):
		return client.CodeNotFound
	case errors.Is(err, session.ErrRunning), errors.Is(err, session.ErrTaken):
		return client.CodeBusy
	}
	return client.CodeUnavailable
}
