package mcp

import (
	"context"
	"errors"
	"fmt"

	"agenthost/client"
)

// answer takes a call in a session in which something waits for the answer to that: to
// what it names, else to the oldest. It then goes on with the call that led to it.
func (c *call) answer(ctx context.Context, args arguments) (taken bool, err error) {
	switch {
	case args.Session == "" && args.Answers != "":
		return false, errors.New("argument session is missing: name the one in which that waits")
	case args.Session == "":
		return false, nil
	}
	list, err := c.server.desk.Waiting(ctx, c.place())
	if err != nil {
		return false, err
	}
	for _, w := range list {
		if args.Answers == "" || args.Answers == w.ID {
			return true, c.settle(ctx, w, args.Text)
		}
	}
	if args.Answers != "" {
		return false, fmt.Errorf("nothing waits under %q in this session; it is answered already, or of another one", args.Answers)
	}
	return false, nil
}

// settle gives an answer, and joins the run that waits for it.
func (c *call) settle(ctx context.Context, w client.Waiting, text string) error {
	e, err := c.server.desk.Join(ctx, c.place(), w.Origin.ReplyTo)
	if err != nil {
		return err
	}
	if err := e.Answer(ctx, w.ID, text); err != nil {
		e.Close()
		return err
	}
	c.exchange = e
	c.settled[w.ID] = true
	return nil
}
