package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Files keeps what is too large for a message while a handler is asked.
type Files interface {
	// Lend stores data under a name of its own, until TakeBack.
	Lend(ctx context.Context, data []byte) (name string, err error)
	TakeBack(ctx context.Context, name string) error
}

// Remote returns a handler that asks the responder on subject: the request is
// the [Call] as JSON, the answer an [Outcome] as JSON. No listener, an
// answer that is not JSON, an action that does not exist and the error of a
// NATS micro service are errors of the handler.
//
// A request that does not fit into one message is never left out: what fits of it is
// asked with a [Cut], and files has the whole until the handler has answered.
func Remote(nc *nats.Conn, files Files, subject string) Handler {
	return responder{nc, files, subject, DefaultTimeout}.handle
}

// A responder is what a remote handler asks.
type responder struct {
	nc      *nats.Conn
	files   Files
	subject string
	timeout time.Duration // of the handler
}

func (r responder) handle(ctx context.Context, call Call) (Outcome, error) {
	out, err := r.ask(ctx, call)
	if err != nil {
		return Outcome{}, fmt.Errorf("ask %q: %w", r.subject, err)
	}
	return out, nil
}

func (r responder) ask(ctx context.Context, call Call) (Outcome, error) {
	data, err := json.Marshal(call)
	if err != nil {
		return Outcome{}, err
	}
	msg := nats.NewMsg(r.subject)
	msg.Header.Set("Content-Type", "application/json")
	if call.TraceParent != "" {
		msg.Header["traceparent"] = []string{call.TraceParent}
	}
	if call.TraceState != "" {
		msg.Header["tracestate"] = []string{call.TraceState}
	}
	if room := int(r.nc.MaxPayload()) - sizeOf(msg.Header); room > 0 && len(data) > room {
		object := r.lend(ctx, data)
		if object != "" {
			defer func() { go r.takeBack(context.WithoutCancel(ctx), object) }() // the answer does not wait for it
		}
		if data, err = cutCall(call, Cut{Object: object, Size: len(data)}, room); err != nil {
			return Outcome{}, fmt.Errorf("shorten the request: %w", err)
		}
	}
	msg.Data = data
	reply, err := r.nc.RequestMsgWithContext(ctx, msg)
	if err != nil {
		return Outcome{}, err
	}
	return outcome(reply)
}

// sizeOf is how much a message has of headers.
func sizeOf(h nats.Header) int {
	size := len("NATS/1.0\r\n\r\n")
	for name, values := range h {
		for _, v := range values {
			size += len(name) + len(": ") + len(v) + len("\r\n")
		}
	}
	return size
}

// lend stores a request. A store that is away or slow keeps no handler from being asked:
// half of its time is left for the answer.
func (r responder) lend(ctx context.Context, data []byte) (object string) {
	ctx, cancel := context.WithTimeout(ctx, r.timeout/2)
	defer cancel()
	object, err := r.files.Lend(ctx, data)
	if err != nil {
		return ""
	}
	return object
}

// takeBackWithin bounds the deletion of an object; what is left then is deleted as
// other files that nothing names.
const takeBackWithin = 10 * time.Second

func (r responder) takeBack(ctx context.Context, object string) {
	ctx, cancel := context.WithTimeout(ctx, takeBackWithin)
	defer cancel()
	_ = r.files.TakeBack(ctx, object)
}

// cutCall is the request with what fits of its arguments.
func cutCall(call Call, cut Cut, room int) ([]byte, error) {
	return cutTo(call.Args, room, func(args Args, names []string) ([]byte, error) {
		call.Args, cut.Args = args, names
		return json.Marshal(struct {
			Call
			Cut Cut `json:"cut"`
		}{call, cut})
	})
}

// outcome reads an answer.
func outcome(reply *nats.Msg) (Outcome, error) {
	if code := reply.Header.Get("Nats-Service-Error-Code"); code != "" {
		return Outcome{}, fmt.Errorf("service error %s: %s", code, reply.Header.Get("Nats-Service-Error"))
	}
	var out Outcome
	if err := json.Unmarshal(reply.Data, &out); err != nil {
		return Outcome{}, fmt.Errorf("decode answer: %w", err)
	}
	if out.Action == "" {
		return Outcome{}, errors.New("answer without an action")
	}
	return out, nil
}

// AddRemote adds a [Remote] handler for each of the configs, labelled with its
// subject. It adds all of them or, with an error, none; what it returns removes
// them again.
func (r *Registry) AddRemote(nc *nats.Conn, files Files, configs []Config) (remove func(), err error) {
	var removes []func()
	remove = func() {
		for _, f := range removes {
			f()
		}
	}
	for _, c := range configs {
		f, err := r.addRemote(nc, files, c)
		if err != nil {
			remove()
			return nil, err
		}
		removes = append(removes, f)
	}
	return remove, nil
}

func (r *Registry) addRemote(nc *nats.Conn, files Files, c Config) (func(), error) {
	for key, fault := range c.Check() {
		return nil, fmt.Errorf("add remote hook on %q: %s: %s", c.On, key, fault)
	}
	opts := Options{Timeout: c.Timeout, FailClosed: c.Fail == FailClosed, Only: c.only()}
	to := responder{nc, files, c.Subject, cmp.Or(c.Timeout, DefaultTimeout)}
	return r.Add(c.On, c.Priority, c.Subject, to.handle, opts)
}
