package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agenthost/agents"
	"agenthost/internal/audit"
)

// The subjects by which programs take chats over. One host of the fleet has the order
// carried out and answers.
const (
	TakeOverSubject = "agenthost.sessions.takeover"
	SaySubject      = "agenthost.sessions.say"
	HandBackSubject = "agenthost.sessions.handback"
)

// An OperatorOrder names the session whose chat an operator takes over, writes into or
// hands back.
type OperatorOrder struct {
	Agent   string `json:"agent"`
	Session string `json:"session"` // its key or sid; Client takes the beginning as well
	By      string `json:"by,omitempty"`
	Text    string `json:"text,omitempty"` // of Say
	Door    string `json:"-"`              // by which way it is given; empty: that of the Client
}

// TakeOver takes the chat of a session over: the run under way ends, and none begins
// before HandBack. What people write is kept in the log of the session. The order waits
// at most within for the report of the host; 0: OrderWithin. What cannot be taken over
// is a *RefusedError, and a session that there is not ErrNoSession.
func (c *Client) TakeOver(ctx context.Context, o OperatorOrder, within time.Duration) (Outcome, error) {
	return c.operate(ctx, agents.OrderTakeOver, o, within)
}

// Say writes to the last sender in a chat that was taken over. In any other chat the
// error is a *RefusedError.
func (c *Client) Say(ctx context.Context, o OperatorOrder, within time.Duration) (Outcome, error) {
	if strings.TrimSpace(o.Text) == "" {
		return Outcome{}, errors.New("write into a chat: the text is empty")
	}
	return c.operate(ctx, agents.OrderSay, o, within)
}

// HandBack gives a chat back to its agent, which answers from the next message on and
// knows what was said. In one that was not taken over it is a *RefusedError.
func (c *Client) HandBack(ctx context.Context, o OperatorOrder, within time.Duration) (Outcome, error) {
	o.Text = ""
	return c.operate(ctx, agents.OrderHandBack, o, within)
}

var operatorWords = map[agents.OperatorOrder]string{agents.OrderTakeOver: "take over", agents.OrderSay: "write into", agents.OrderHandBack: "hand back"}

// operatorActions are the names of the orders in the audit log, as in the table of
// operations.
var operatorActions = map[agents.OperatorOrder]string{
	agents.OrderTakeOver: "sessions-takeover", agents.OrderSay: "sessions-say", agents.OrderHandBack: "sessions-handback",
}

func (c *Client) operate(ctx context.Context, order agents.OperatorOrder, o OperatorOrder, within time.Duration) (Outcome, error) {
	sessions := c.Sessions()
	sid, err := sessions.Find(ctx, o.Agent, o.Session)
	if err != nil {
		return Outcome{}, err
	}
	key, err := sessions.archive.KeyOf(ctx, o.Agent, sid)
	if err != nil {
		return Outcome{}, sessions.explain(ctx, err)
	}
	out := Outcome{Session: string(key)}
	r, err := c.listenForReport()
	if err != nil {
		return out, err
	}
	defer r.close()
	msg, err := agents.OperatorMessage(order, cmp.Or(o.Door, c.door), o.Agent, key, o.By, o.Text, r.inbox.Subject)
	if msg, err = checked(msg, err); err != nil {
		return out, err
	}
	if out.Stored, err = r.give(ctx, o.Agent, msg, within); err != nil {
		err = fmt.Errorf("%s %s of %s: %w", operatorWords[order], key, o.Agent, err)
	} else {
		c.note(ctx, audit.Entry{Action: operatorActions[order], By: o.By, Agent: o.Agent, Session: string(key), Detail: o.Text})
	}
	return out, err
}
