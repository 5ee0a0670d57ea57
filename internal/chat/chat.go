// Package chat is a conversation with an agent at a terminal, or on a pipe: the
// line that is edited, replies as they are written, approvals and questions that
// the next line answers, and what a session has come to.
package chat

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

// A Chat is a conversation with the person at a terminal, or with the lines of a
// pipe.
type Chat struct {
	*cli.App
	client *client.Client
	conv   *client.Conversation
	person bool // sits at a terminal
	failed bool // a reply was an error, or is missing

	lines <-chan line
	ahead []line // typed before they were asked for

	editor  *terminal.Editor // of the line that is typed; nil: the terminal's own, or a pipe
	keys    func(context.Context) <-chan line
	restore func()
	screen  terminal.Screen
	busy    atomic.Bool // a reply is awaited
	seq     uint64      // up to this commit of the session, all has been counted
}

// A Start says with whom a chat begins, and in which session.
type Start struct {
	Client *client.Client
	Agent  string
	// About is printed at a terminal in front of the agent's name.
	About string
	// Session is the name or the key of the session; empty: a new one.
	Session string
	// Last goes on in the last session of this user with the agent.
	Last bool
}

// errLeft is why a chat ends whose input has ended, or whose person has left.
var errLeft = errors.New("the chat is left")

// Open makes a chat of the streams of app. At a terminal it takes over the line
// that is typed, and what goes to app's output comes above it, until Close.
func Open(app *cli.App) *Chat {
	c := &Chat{App: app, person: cli.IsTerminal(app.Stdin) && cli.IsTerminal(app.Stdout), screen: app.Screen()}
	c.keys, c.restore = c.openEditor()
	return c
}

// Close gives the terminal back as it was.
func (c *Chat) Close() { c.restore() }

// Run talks until the input ends, the person leaves, or ctx ends. On a pipe a
// reply that is an error makes it cli.ErrReported in the end.
func (c *Chat) Run(ctx context.Context, start Start) error {
	if err := c.begin(ctx, start); err != nil {
		return err
	}
	if err := c.conv.Listen(c.person); err != nil {
		return err
	}
	defer func() { c.conv.Close() }() // the one of the last /new
	if c.person {
		fmt.Fprintf(c.Stdout, "%s %s. Ctrl-D or /quit ends the chat, /help shows more.\n\n", start.About, start.Agent)
		c.showEarlier(ctx)
	}
	c.lines = c.keys(ctx)
	return c.talk(ctx)
}

// talk sends messages and prints replies until the input or the chat ends.
func (c *Chat) talk(ctx context.Context) error {
	if c.lines == nil {
		c.lines = readLines(ctx, c.Stdin)
	}
	for {
		c.prompt(youPrompt)
		text, err := c.read(ctx)
		if err == nil {
			err = c.take(ctx, text)
		}
		if err != nil {
			return c.over(ctx, err)
		}
	}
}

// take carries out a line that is an order, and sends any other.
func (c *Chat) take(ctx context.Context, text string) error {
	if done, err := c.obey(order(text)); done {
		return err
	}
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return c.ask(ctx, text)
}

// read is the next line. The error is errLeft at the end of the input, and when the person leaves.
func (c *Chat) read(ctx context.Context) (string, error) {
	var l line
	if len(c.ahead) > 0 {
		l, c.ahead = c.ahead[0], c.ahead[1:]
	} else {
		var ok bool
		select {
		case l, ok = <-c.lines:
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		switch {
		case ctx.Err() != nil: // the reader of lines ends with it, too
			return "", context.Cause(ctx)
		case !ok:
			c.prompt("\n")
			return "", errLeft
		}
	}
	if l.err != nil {
		return "", fmt.Errorf("read message: %w", l.err)
	}
	if leaves(l.text) {
		return "", errLeft
	}
	return l.text, nil
}

// youPrompt is what a line of the person begins with.
const youPrompt = "you> "

// ask sends a message and prints the reply. Only the end of the chat is an error.
func (c *Chat) ask(ctx context.Context, text string) error {
	m := client.NewMessage(text)
	c.prompt(c.name())
	if _, err := c.conv.Send(ctx, m); err != nil {
		return c.fail(ctx, err)
	}
	c.busy.Store(true)
	begun, calm := time.Now(), c.signOfLife()
	x := newExchange(c)
	reply, err := x.run(ctx, m)
	calm()
	c.busy.Store(false)
	if errors.Is(err, errLeft) {
		return err
	}
	x.resume()
	if err == nil {
		err = PrintReply(c.App, c.conv, reply, x.speech)
	}
	if err != nil && c.person && stopped(reply) {
		fmt.Fprintf(c.Stdout, terminal.ClearLine+"%s%s\n\n", c.name(), terminal.Printable(reply.Error.Message))
		return nil
	}
	if err != nil {
		return c.fail(ctx, err)
	}
	c.printCost(ctx, time.Since(begun))
	c.prompt("\n")
	return nil
}

// stopped reports whether a person has stopped the run of a reply, which is no error
// to them.
func stopped(r client.Reply) bool {
	return r.Error != nil && r.Error.Code == "cancelled" && r.Error.Message != ""
}

// name is what a line of the agent begins with.
func (c *Chat) name() string { return c.conv.Agent() + "> " }

// fail prints why there is no reply. The chat goes on unless ctx has ended.
func (c *Chat) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.failed = true
	if c.person {
		fmt.Fprintf(c.Stdout, terminal.ClearLine+"%serror: %s\n\n", c.name(), terminal.Printable(err.Error()))
		return nil
	}
	c.Warn("%v", err)
	return nil
}

// over is how a chat ends that err has ended: Ctrl-C at a terminal is no failure.
func (c *Chat) over(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errLeft):
		return c.end()
	case c.person && ctx.Err() != nil:
		c.prompt("\n")
		return nil //nolint:nilerr // leaving with Ctrl-C is no failure
	}
	return err
}

// end is how a chat ends: a script wants to know that a reply is missing.
func (c *Chat) end() error {
	if c.failed && !c.person {
		return cli.ErrReported
	}
	return nil
}

// prompt writes what only a person wants to see.
func (c *Chat) prompt(text string) {
	if c.person {
		fmt.Fprint(c.Stdout, text)
	}
}

// notice writes what is no reply: a script finds it on standard error.
func (c *Chat) notice(format string, args ...any) {
	if !c.person {
		c.Warn(format, args...)
		return
	}
	fmt.Fprint(c.Stdout, terminal.ClearLine)
	cli.Say(c.Stdout, "! "+format+"\n", args...)
}
