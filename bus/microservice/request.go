package microservice

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// A request is a micro.Request, whose answers go to the client at once.
type request struct {
	msg    *nats.Msg
	failed func(text string) // counts an error; nil: nothing counts it
}

// Respond sends an answer.
func (r *request) Respond(data []byte, opts ...micro.RespondOpt) error {
	err := r.send(&nats.Msg{Data: data}, opts)
	if err != nil {
		r.fail(err.Error())
	}
	return err
}

// RespondJSON sends v as the answer.
func (r *request) RespondJSON(v any, opts ...micro.RespondOpt) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("%w: %w", micro.ErrMarshalResponse, err)
	}
	return r.Respond(data, opts...)
}

// Error sends an error as the answer.
func (r *request) Error(code, description string, data []byte, opts ...micro.RespondOpt) error {
	if code == "" || description == "" {
		return fmt.Errorf("%w: code and description of an error", micro.ErrArgRequired)
	}
	err := r.send(&nats.Msg{Data: data, Header: nats.Header{
		micro.ErrorHeader: {description}, micro.ErrorCodeHeader: {code},
	}}, opts)
	r.fail(errors.Join(fmt.Errorf("%s:%s", code, description), err).Error())
	return err
}

func (r *request) send(answer *nats.Msg, opts []micro.RespondOpt) error {
	for _, opt := range opts {
		opt(answer)
	}
	if err := r.msg.RespondMsg(answer); err != nil {
		return fmt.Errorf("%w: %w", micro.ErrRespond, err)
	}
	return nil
}

func (r *request) fail(text string) {
	if r.failed != nil {
		r.failed(text)
	}
}

// Data is the content of the request.
func (r *request) Data() []byte { return r.msg.Data }

// Headers are those of the request.
func (r *request) Headers() micro.Headers { return micro.Headers(r.msg.Header) }

// Subject is where the request came.
func (r *request) Subject() string { return r.msg.Subject }

// Reply is where the answer goes.
func (r *request) Reply() string { return r.msg.Reply }
