package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"agenthost/bus"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// The headers of a call. Two requests with one call id are one call: the second
// was made because the answer to the first was not heard.
const (
	CallIDHeader     = "Agent-Call-Id"
	AgentHeader      = "Agent-Id"
	SessionKeyHeader = bus.SessionKeyHeader
)

// call asks e and waits for the answer until ctx ends.
func (s *Service) call(ctx context.Context, e endpoint, call tools.Call) (tools.Result, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, tools.DefaultTimeout)
		defer cancel()
	}
	answer, err := s.nc.RequestMsgWithContext(ctx, s.request(e, call))
	if errors.Is(err, nats.ErrNoResponders) {
		s.Look()
		err = fmt.Errorf("unavailable: %w", errAbsent)
	}
	if err != nil {
		return tools.Result{}, fmt.Errorf("call %s of service %q: %w", e.name, s.name, err)
	}
	return result(answer), nil
}

func (s *Service) request(e endpoint, call tools.Call) *nats.Msg {
	msg := nats.NewMsg(e.subject)
	msg.Data = call.Args
	if len(bytes.TrimSpace(call.Args)) == 0 {
		msg.Data = []byte("{}")
	}
	msg.Header.Set(CallIDHeader, call.ID)
	msg.Header.Set(AgentHeader, call.Agent)
	msg.Header.Set(SessionKeyHeader, call.Session)
	bus.SetChain(msg.Header, call.Chain)
	if call.TraceParent != "" {
		msg.Header["traceparent"] = []string{call.TraceParent}
	}
	if call.TraceState != "" {
		msg.Header["tracestate"] = []string{call.TraceState}
	}
	return msg
}

// result puts an answer into words. What a service calls an error comes in
// headers.
func result(msg *nats.Msg) tools.Result {
	text := strings.ToValidUTF8(string(msg.Data), "�")
	problem, code := msg.Header.Get(micro.ErrorHeader), msg.Header.Get(micro.ErrorCodeHeader)
	if problem == "" && code == "" {
		return tools.Result{Text: text}
	}
	said := strings.TrimPrefix(code+": "+problem, ": ")
	return tools.Result{Text: strings.TrimSpace(said + "\n" + text), Failed: true}
}
