package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/doors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nuid"
)

var (
	errSessionEnded = errors.New("the client has ended the session")
	// errDismissed ends the wait for a run whose question was dismissed.
	errDismissed = errors.New("dismissed")
)

// metaID in the _meta of a call names its message: sent again, it gets the same answer.
const metaID = "agenthost/id"

// stopWithin bounds what the order to stop a run may take.
const stopWithin = 5 * time.Second

// A call is one of a tool.
type call struct {
	server  *server
	agent   string
	request *sdk.CallToolRequest
	session *sdk.ServerSession
	cancel  context.CancelCauseFunc

	name     string // of the session of the agent
	begun    bool   // the call has begun it
	exchange *doors.Exchange
	text     doors.Text
	progress int             // notifications so far
	waiting  []*bus.Outbound // what the run waits for
	settled  map[string]bool // the ids of what has been answered, or is asked
	// dismissed says that the client has brought back a question without an answer.
	dismissed bool
}

// arguments are those of a call.
type arguments struct {
	Text    string `json:"text"`
	Session string `json:"session"`
	Answers string `json:"answers"`
}

func (c *call) arguments() (args arguments, err error) {
	if err := json.Unmarshal(c.request.Params.Arguments, &args); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return args, fmt.Errorf("argument %s is of type %s; want a text", wrong.Field, wrong.Value)
		}
		return args, errors.New(`arguments: want an object such as {"text": "hello"}`)
	}
	if args.Text == "" {
		return args, errors.New("argument text is missing: it is the message to the agent")
	}
	if n := len(args.Session); n > bus.LongestID {
		return args, fmt.Errorf("argument session has %d bytes; want at most %d", n, bus.LongestID)
	}
	return args, nil
}

// run is the call. What the agent can correct is a result that is an error; an error means
// that no result can be sent.
func (c *call) run(ctx context.Context) (*sdk.CallToolResult, error) {
	c.settled = map[string]bool{}
	if err := c.enter(ctx); err != nil {
		switch {
		case errors.Is(err, context.Canceled) && cancelled(ctx):
			err = fmt.Errorf("cancelled before the message was sent to %s", c.agent)
		case cancelled(ctx):
			err = fmt.Errorf("cancelled while the message was on its way to %s; it may have arrived", c.agent)
		case stops(ctx):
			err = fmt.Errorf("the host stopped while the message was on its way to %s; it may have arrived", c.agent)
		}
		return failure(err), nil
	}
	defer c.exchange.Close()
	for ev, err := range c.exchange.Events(ctx) {
		switch {
		case errors.Is(context.Cause(ctx), errDismissed):
			return c.waits(), nil
		case err != nil:
			return c.ended(ctx, err)
		case ev.Refused != nil:
			return c.refused(ev.Refused), nil
		case ev.Out != nil && ev.Out.Final:
			return c.result(ctx, ev.Out), nil
		case ev.Out != nil && isAsk(ev.Out):
			if res := c.ask(ctx, ev.Out); res != nil {
				return res, nil
			}
		default:
			c.report(ctx, ev)
		}
	}
	return c.ended(ctx, errors.New("the run has ended without a reply"))
}

// enter begins once it is the call's turn. A call that is cancelled meanwhile is cancelled once its
// message is stored: what is on its way would have its run.
func (c *call) enter(ctx context.Context) error {
	leave, err := c.server.order.enter(ctx, c.request.Params.Meta[metaTicket])
	if err != nil {
		return err
	}
	defer leave()
	if cancelled(ctx) {
		return context.Canceled
	}
	sending, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancel(nil)
	defer context.AfterFunc(ctx, func() {
		if !cancelled(ctx) {
			cancel(context.Cause(ctx))
		}
	})()
	return c.begin(sending)
}

// begin sends the message, or joins the run whose question the call answers.
func (c *call) begin(ctx context.Context) error {
	if c.request.Params.RequestState != "" {
		return c.resume(ctx)
	}
	args, err := c.arguments()
	if err != nil {
		return err
	}
	id, isText := c.request.Params.Meta[metaID].(string)
	if given := c.request.Params.Meta[metaID]; given != nil && !isText {
		return fmt.Errorf("%s in _meta is no text: write the id in quotes", metaID)
	}
	c.name = args.Session
	switch {
	case c.name == "" && id != "": // the same for who sends it again
		sum := sha256.Sum256([]byte(id))
		c.name, c.begun = hex.EncodeToString(sum[:8]), true
	case c.name == "" && args.Answers == "":
		c.name, c.begun = nuid.Next(), true
	}
	if answered, err := c.answer(ctx, args); answered || err != nil {
		return err
	}
	c.exchange, err = c.server.desk.Send(ctx, doors.Request{
		Agent: c.agent, Instance: c.server.instance, Conversation: c.name, ID: id, From: c.server.from, Text: args.Text,
	})
	return err
}

func (c *call) place() doors.Place {
	return doors.Place{Agent: c.agent, Instance: c.server.instance, Conversation: c.name, From: c.server.from}
}

// ended is the result of a call that nobody waits for any more, or without a reply, of
// which err is the reason. Who cancels it stops the run; who is gone only, or has lost
// the connection, does not.
func (c *call) ended(ctx context.Context, err error) (*sdk.CallToolResult, error) {
	cause := context.Cause(ctx)
	if cause == nil {
		return failure(err), nil
	}
	if stops(ctx) {
		return c.goesOn(), nil
	}
	if !cancelled(ctx) {
		return failure(cause), nil
	}
	if c.mayBeLost() {
		return failure(fmt.Errorf("cancelled: the run of %s goes on, and its answer is in session %s", c.agent, c.name)), nil
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	switch withdrawn, err := c.exchange.Cancel(stop); {
	case err != nil:
		return failure(fmt.Errorf("cancelled, but the run of %s is not stopped: %w", c.agent, err)), nil
	case withdrawn:
		return failure(fmt.Errorf("cancelled before %s had begun with the message, which was withdrawn", c.agent)), nil
	}
	return failure(fmt.Errorf("cancelled: the run of %s was stopped", c.agent)), nil
}

// cancelled reports whether the call has ended for no other reason than that its client
// wants no result any more.
func cancelled(ctx context.Context) bool {
	return context.Cause(ctx) == context.Canceled //nolint:errorlint // what has another cause says more than that
}

// stops reports whether the call has ended because the server stops.
func stops(ctx context.Context) bool { return errors.Is(context.Cause(ctx), errStopping) }

// mayBeLost reports whether a call is cancelled in the same way as its connection is
// lost: by its end.
func (c *call) mayBeLost() bool { return c.server.overHTTP && c.isModern() }

// report tells the client how far the run is, if it wants to know.
func (c *call) report(ctx context.Context, ev doors.Event) {
	token := c.request.Params.GetProgressToken()
	if token == nil {
		return
	}
	var text string
	switch {
	case ev.Chunk != nil && ev.Chunk.Call != "":
		text = ev.Chunk.Tool + ": " + ev.Chunk.Progress
	case ev.Chunk != nil:
		if text = c.text.Chunk(*ev.Chunk); text == "" {
			return
		}
	case ev.Out != nil:
		text = ev.Out.Text
	default:
		text = "working"
	}
	c.progress++
	_ = c.session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ // the client may be gone
		ProgressToken: token, Message: text, Progress: float64(c.progress),
	})
}
