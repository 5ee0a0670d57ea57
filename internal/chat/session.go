package chat

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

// begin opens the conversation that start names.
func (c *Chat) begin(ctx context.Context, start Start) (err error) {
	c.client = start.Client
	party := client.Party{From: "chat-" + cli.UserName()}
	switch {
	case start.Last:
		var ok bool
		if party, ok, err = c.client.LastParty(ctx, start.Agent, party.From); err == nil && !ok {
			err = fmt.Errorf("no earlier chat with %s; leave out --last", start.Agent)
		}
	case start.Session != "":
		party, err = client.ParseParty(start.Session, party.From)
	}
	c.conv = c.client.Conversation(start.Agent, party)
	return err
}

// startOver goes on in a new session. What was said in this one stays there.
func (c *Chat) startOver() error {
	c.conv.Close()
	c.conv = c.client.Conversation(c.conv.Agent(), client.Party{From: "chat-" + cli.UserName()})
	c.seq = 0
	c.notice("a new session")
	return c.conv.Listen(true)
}

const (
	earlierShown  = 4 // messages of a session that a chat begins with
	earlierWithin = 5 * time.Second
)

// showEarlier shows how far the session has come, if there is one, and has the
// arrows bring back what the person has said in it.
func (c *Chat) showEarlier(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, earlierWithin)
	defer cancel()
	sid, err := client.SessionID(c.conv.Agent(), c.conv.Key())
	if err != nil {
		return
	}
	state, sum, err := c.client.Sessions().State(ctx, c.conv.Agent(), sid)
	if err != nil {
		return // mostly: it is new
	}
	c.seq = sum.Seq
	var shown []string
	for _, m := range state.Messages {
		text := strings.TrimSpace(m.Text())
		switch {
		case text == "":
		case m.Role == "user":
			shown = append(shown, youPrompt+text)
			if c.editor != nil {
				c.editor.Remember(text)
			}
		case m.Role == "assistant":
			shown = append(shown, c.name()+text)
		}
	}
	for _, text := range shown[max(len(shown)-earlierShown, 0):] {
		fmt.Fprintln(c.Stdout, c.screen.Paint(terminal.Dim, terminal.Cut(cli.OneLine(text), 400)))
	}
	if len(shown) > 0 {
		fmt.Fprintln(c.Stdout)
	}
}

// costWithin bounds what a chat waits for the account of a reply.
const costWithin = 2 * time.Second

// printCost prints at a terminal what the reply took: time, and tokens
// and money as the log has them.
func (c *Chat) printCost(ctx context.Context, took time.Duration) {
	if c.editor == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, costWithin)
	defer cancel()
	sid, err := client.SessionID(c.conv.Agent(), c.conv.Key())
	if err != nil {
		return
	}
	var in, out, money int64
	for f, err := range c.client.Sessions().History(ctx, c.conv.Agent(), sid, c.seq+1) {
		if err != nil {
			break // the reply itself is there
		}
		c.seq = f.Seq
		if u := f.Event.Usage; u != nil {
			in, out, money = in+u.Input, out+u.Output, money+f.Event.Cost
		}
	}
	line := took.Round(100 * time.Millisecond).String()
	if in+out > 0 {
		line += fmt.Sprintf(" · %d tokens in, %d out", in, out)
	}
	if money > 0 {
		line += " · " + client.Money(money)
	}
	fmt.Fprintln(c.Stdout, c.screen.Paint(terminal.Dim, line))
}
