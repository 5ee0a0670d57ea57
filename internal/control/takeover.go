package control

import (
	"context"
	"errors"
	"strings"
	"time"

	"agenthost/client"
)

// operatorWithin is how long the host that serves the session may take to carry out the
// order of an operator: it may be storing a run.
const operatorWithin = 15 * time.Second

// A carriedOut is the result of the order of an operator.
type carriedOut struct {
	OK      bool   `json:"ok"`
	Session string `json:"session"`          // its key
	Stored  string `json:"stored,omitempty"` // the stream that keeps the order, as no host has carried it out yet
}

// operate has a session's owner, perhaps another host, carry out the order of an operator.
func (h Host) operate(give func(*client.Client, context.Context, client.OperatorOrder, time.Duration) (client.Outcome, error)) func(context.Context, client.OperatorOrder) (carriedOut, error) {
	return func(ctx context.Context, o client.OperatorOrder) (carriedOut, error) {
		if !h.Serves(o.Agent) {
			return carriedOut{}, coded(client.CodeNotFound, "there is no agent %q", o.Agent)
		}
		o.By = callerOf(ctx).by(o.By)
		out, err := give(h.clientFor(callerOf(ctx)), ctx, o, client.OrderWithin)
		_, refused := errors.AsType[*client.RefusedError](err)
		_, misnamed := errors.AsType[*client.NameError](err)
		switch {
		case refused:
			err = coded(client.CodeBusy, "%w", err)
		case misnamed:
			err = coded(client.CodeBad, "%w", err)
		}
		err = wrong(err)
		return carriedOut{OK: err == nil, Session: out.Session, Stored: out.Stored}, err
	}
}

func (h Host) say(ctx context.Context, o client.OperatorOrder) (carriedOut, error) {
	if strings.TrimSpace(o.Text) == "" {
		return carriedOut{}, coded(client.CodeBad, "text: it is empty")
	}
	return h.operate((*client.Client).Say)(ctx, o)
}

// operators are the operations by which a person takes a chat over.
func (h Host) operators() []Operation {
	by := client.OperatorOrder{By: client.ServiceName}
	list := []Operation{
		{
			Name: "sessions-takeover", Path: "/sessions/takeover", Changes: true, Subject: client.TakeOverSubject, Do: do(by, h.operate((*client.Client).TakeOver)),
			About: "takes the chat of a session over, so that its agent is silent: agent, session, by",
		},
		{
			Name: "sessions-say", Path: "/sessions/say", Changes: true, Subject: client.SaySubject, Do: do(by, h.say),
			About: "writes into a chat that was taken over: agent, session, text, by",
		},
		{
			Name: "sessions-handback", Path: "/sessions/handback", Changes: true, Subject: client.HandBackSubject, Do: do(by, h.operate((*client.Client).HandBack)),
			About: "hands a chat back to its agent: agent, session, by",
		},
	}
	for i := range list {
		list[i].Required, list[i].Within = true, operatorWithin
	}
	return list
}
