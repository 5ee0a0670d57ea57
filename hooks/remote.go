package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// Remote returns a handler that asks the responder on subject: the request is
// the [Call] as JSON, the answer an [Outcome] as JSON. No listener, an
// answer that is not JSON, an action that does not exist and the error of a
// NATS micro service are errors of the handler.
func Remote(nc *nats.Conn, subject string) Handler {
	return func(ctx context.Context, call Call) (Outcome, error) {
		out, err := request(ctx, nc, subject, call)
		if err != nil {
			return Outcome{}, fmt.Errorf("ask %q: %w", subject, err)
		}
		return out, nil
	}
}

func request(ctx context.Context, nc *nats.Conn, subject string, call Call) (Outcome, error) {
	data, err := json.Marshal(call)
	if err != nil {
		return Outcome{}, err
	}
	msg := nats.NewMsg(subject)
	msg.Header.Set("Content-Type", "application/json")
	if call.TraceParent != "" {
		msg.Header["traceparent"] = []string{call.TraceParent}
	}
	if call.TraceState != "" {
		msg.Header["tracestate"] = []string{call.TraceState}
	}
	msg.Data = data
	reply, err := nc.RequestMsgWithContext(ctx, msg)
	if err != nil {
		return Outcome{}, err
	}
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
func (r *Registry) AddRemote(nc *nats.Conn, configs []Config) (remove func(), err error) {
	var removes []func()
	remove = func() {
		for _, f := range removes {
			f()
		}
	}
	for _, c := range configs {
		f, err := r.addRemote(nc, c)
		if err != nil {
			remove()
			return nil, err
		}
		removes = append(removes, f)
	}
	return remove, nil
}

func (r *Registry) addRemote(nc *nats.Conn, c Config) (func(), error) {
	for key, fault := range c.Check() {
		return nil, fmt.Errorf("add remote hook on %q: %s: %s", c.On, key, fault)
	}
	opts := Options{Timeout: c.Timeout, FailClosed: c.Fail == FailClosed, Only: c.only()}
	return r.Add(c.On, c.Priority, c.Subject, Remote(nc, c.Subject), opts)
}
