package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"agenthost/internal/control"
	"agenthost/internal/terminal"

	"github.com/nats-io/nuid"
)

// A chatStart is which session a chat begins with: a new one when it is zero.
type chatStart struct {
	session string
	last    bool
}

// sessionNamed is who talks in a session, and under which id: from, in the one
// that is called so, unless it is a key that names both.
func sessionNamed(text, from string) (who, id string, err error) {
	rest, route := strings.CutPrefix(text, "route/")
	if !route {
		if _, err := control.SessionID("a", text); err == nil {
			return "", "", usage("session %q: its chat goes on where it is; want a name, or a key such as route/cli/apples", text)
		}
		return from, text, nil
	}
	who, id, ok := strings.Cut(rest, "/")
	if !ok || strings.Contains(id, "/") || id == "" {
		return "", "", usage("session %q: want a name, or a key such as route/cli/apples", text)
	}
	who, wrong := url.PathUnescape(who)
	id, bad := url.PathUnescape(id)
	if err := errors.Join(wrong, bad); err != nil || who == "" {
		return "", "", usage("session %q: want a name, or a key such as route/cli/apples", text)
	}
	return who, id, nil
}

// begin opens the dialog that start names.
func (c *chat) begin(ctx context.Context, p *place, agent string, start chatStart) (err error) {
	from, id := "chat-"+userName(), nuid.Next()
	switch {
	case start.last:
		if id, err = lastChat(ctx, p, agent, from); err != nil {
			return err
		}
	case start.session != "":
		if from, id, err = sessionNamed(start.session, from); err != nil {
			return err
		}
	}
	c.dialog = newDialog(p.nc, p.js, agent, from, id)
	return nil
}

// mostChats is how many sessions of an agent are looked at for the last chat.
const mostChats = 1000

// lastChat is the id of the session of the last conversation with an agent.
func lastChat(ctx context.Context, p *place, agent, from string) (string, error) {
	list, err := control.Sessions(p.js).List(ctx, control.SessionPage{Agent: agent, Limit: mostChats})
	if err != nil {
		return "", err
	}
	mine := control.RouteKey(from, "")
	for _, s := range list.Sessions {
		if strings.HasPrefix(string(s.Key), mine) {
			_, id, err := sessionNamed(string(s.Key), from)
			return id, err
		}
	}
	return "", fmt.Errorf("no chat with %s to go on with; leave --last out", agent)
}

// startOver goes on in a new session. What was said in this one stays there.
func (c *chat) startOver() error {
	c.dialog.close()
	c.dialog = newDialog(c.dialog.nc, c.dialog.js, c.dialog.agent, "chat-"+userName(), nuid.Next())
	c.seq = 0
	c.notice("a new session")
	return c.dialog.listen(true)
}

// earlierShown is how many messages of a session a chat begins with.
const earlierShown = 4

// showEarlier shows how far the session has come, if there is one, and has the
// arrows bring back what the person has said in it.
func (c *chat) showEarlier(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	sid, err := control.SessionID(c.dialog.agent, control.RouteKey(c.dialog.from, c.dialog.session))
	if err != nil {
		return
	}
	state, sum, err := control.Sessions(c.dialog.js).State(ctx, c.dialog.agent, sid)
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
		fmt.Fprintln(c.stdout, c.screen.Paint(terminal.Dim, terminal.Cut(onOneLine(text), 400)))
	}
	if len(shown) > 0 {
		fmt.Fprintln(c.stdout)
	}
}

// costWithin bounds what a chat waits for the account of an answer.
const costWithin = 2 * time.Second

// printCost prints at a terminal what the answer took: time, and tokens
// and money as the log has them.
func (c *chat) printCost(ctx context.Context, took time.Duration) {
	if c.editor == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, costWithin)
	defer cancel()
	sid, err := control.SessionID(c.dialog.agent, control.RouteKey(c.dialog.from, c.dialog.session))
	if err != nil {
		return
	}
	var in, out, money int64
	for f, err := range control.Sessions(c.dialog.js).History(ctx, c.dialog.agent, sid, c.seq+1) {
		if err != nil {
			break // the answer itself is there
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
		line += " · " + control.Money(money)
	}
	fmt.Fprintln(c.stdout, c.screen.Paint(terminal.Dim, line))
}
