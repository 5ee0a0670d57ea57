package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agenthost/bus"
	"agenthost/client"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// modern is the first version of the protocol in which a server asks by the result of
// a call, which the client then repeats with the answers.
const modern = "2026-07-28"

func isAsk(out *bus.Outbound) bool {
	return out.Kind == bus.KindApproval || out.Kind == bus.KindQuestion
}

func (c *call) isModern() bool {
	p := c.session.InitializeParams()
	return p == nil || p.ProtocolVersion >= modern
}

// canAsk reports whether the client shows forms to its person.
func (c *call) canAsk() bool {
	p := c.session.InitializeParams()
	if c.server.forms.Err() != nil || p == nil || p.Capabilities == nil || p.Capabilities.Elicitation == nil {
		return false
	}
	e := p.Capabilities.Elicitation
	return e.Form != nil || e.URL == nil // neither is what older clients say
}

// ask has an approval or a question answered. The result is not nil when that is to
// be done by another call.
func (c *call) ask(ctx context.Context, out *bus.Outbound) *sdk.CallToolResult {
	if c.settled[out.Call] {
		return nil
	}
	c.settled[out.Call] = true
	c.waiting = append(c.waiting, out)
	switch {
	case !c.canAsk(), c.dismissed:
		return c.waits()
	case c.isModern():
		return c.wanted()
	}
	c.server.open.Go(func() { c.elicit(ctx, out) }) // the call holds one, so the count is not zero
	return nil
}

// elicit asks the person of the client, and gives the answer to the agent.
func (c *call) elicit(ctx context.Context, out *bus.Outbound) {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.server.forms, stop)()
	res, err := c.session.Elicit(asking, form(out))
	switch {
	case ctx.Err() != nil: // it was answered elsewhere
	case err != nil:
		c.cancel(errDismissed)
	default:
		if err := c.give(ctx, out.Call, out.Kind, res); err != nil {
			c.cancel(err)
		}
	}
}

// give gives the agent what a person has filled in. Who says no denies an approval;
// else the question goes on waiting.
func (c *call) give(ctx context.Context, id, kind string, res *sdk.ElicitResult) error {
	answer, _ := res.Content[field].(string)
	switch {
	case res.Action == "accept" && strings.TrimSpace(answer) != "":
	case res.Action == "decline" && kind == bus.KindApproval:
		answer = client.Deny
	default:
		return errDismissed
	}
	return c.exchange.Answer(ctx, id, answer)
}

// field is the one of a form.
const field = "answer"

// form is what a person is asked. An approval is for this once: who wants more says so
// to the operator.
func form(out *bus.Outbound) *sdk.ElicitParams {
	answer := map[string]any{"type": "string", "title": "Answer"}
	switch {
	case out.Kind == bus.KindApproval:
		answer["enum"] = []string{client.Approve, client.Deny}
	case len(out.Options) > 0:
		answer["enum"] = out.Options
	}
	return &sdk.ElicitParams{Message: out.Text, RequestedSchema: map[string]any{
		"type": "object", "properties": map[string]any{field: answer}, "required": []string{field},
	}}
}

// A state is what a client brings back with the answers it was asked for.
type state struct {
	Message string            `json:"message"`
	Session string            `json:"session"`
	Kinds   map[string]string `json:"kinds"` // of what waits, by its id
	Begun   bool              `json:"begun,omitempty"`
}

// wanted is a result that asks: the client calls again with the answers.
func (c *call) wanted() *sdk.CallToolResult {
	s := state{Message: c.exchange.ID, Session: c.name, Kinds: map[string]string{}, Begun: c.begun}
	forms := sdk.InputRequestMap{}
	for _, out := range c.waiting {
		forms[out.Call] = form(out)
		s.Kinds[out.Call] = out.Kind
	}
	text, _ := json.Marshal(s) // of texts only: never fails
	return &sdk.CallToolResult{InputRequests: forms, RequestState: string(text)}
}

// resume goes on with a call that has asked. What the client brings back leads no
// further than any call of it: a session of its own, and questions that wait there.
func (c *call) resume(ctx context.Context) error {
	var s state
	if err := json.Unmarshal([]byte(c.request.Params.RequestState), &s); err != nil || s.Message == "" {
		return errors.New("requestState is not what this server has sent; call again without it")
	}
	c.name, c.begun = s.Session, s.Begun
	var err error
	if c.exchange, err = c.server.desk.Join(ctx, c.place(), s.Message); err != nil {
		return err
	}
	for id, response := range c.request.Params.InputResponses {
		res, ok := response.(*sdk.ElicitResult)
		if !ok || s.Kinds[id] == "" {
			continue
		}
		switch err := c.give(ctx, id, s.Kinds[id], res); {
		case errors.Is(err, errDismissed):
			c.dismissed = true
		case err != nil:
			c.exchange.Close()
			return fmt.Errorf("answer: %w", err)
		default:
			c.settled[id] = true
		}
	}
	return nil
}
