package main

import (
	"context"
	"errors"
	"fmt"
	"os/user"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
)

func (a *app) chatCommand() *cobra.Command {
	logs := newLogFlags("warn")
	logs.aside = true
	from := chatStart{}
	cmd := &cobra.Command{
		Use:   "chat [AGENT]",
		Short: "Talk to an agent",
		Long: `Chat talks to an agent in the terminal. It joins the host that runs, or starts
one for as long as the chat lasts. Of several agents, name one. When its input
is no terminal, each line is a message and only answers are printed.

When the agent asks for an approval or has a question, the next line is the
answer to it: approve or deny, or approve session or approve always for longer.
The line /stop stops what is under way, /quit ends the chat, /help lists what else
there is. On a terminal the line can be edited, with the earlier ones behind the
arrows; it gets another line by Alt-Enter, by a backslash at its end, or by pasting
several. Ctrl-C stops a run that is under way, and else ends the chat.

A chat is a session of its own. --last goes on with the last one, --session with
another, by its name or its key.`,
		Example: `  agenthost chat
  agenthost chat assistant --last
  agenthost chat assistant --session holidays
  agenthost chat assistant -s nats://10.0.0.5:4222
  echo hi | agenthost chat`,
		Args: takes("[AGENT]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			agent := ""
			if len(args) > 0 {
				agent = args[0]
				if err := checkAgent(agent); err != nil {
					return err
				}
			}
			if from.last && from.session != "" {
				return usage("--last, and --session: want one of them")
			}
			return a.chat(cmd.Context(), agent, from, logs)
		},
	}
	cmd.Flags().StringVar(&from.session, "session", "", "go on with the session of that `name` or key, or begin it")
	cmd.Flags().BoolVar(&from.last, "last", false, "go on with the last chat with the agent")
	a.configFlag(cmd)
	logs.register(cmd)
	return cmd
}

// A chat is a dialog with whoever types.
type chat struct {
	*app
	dialog *dialog
	person bool // sits at a terminal
	failed bool // an answer was an error, or is missing

	lines <-chan line
	ahead []line // typed before they were asked for

	editor *terminal.Editor // of the line that is typed; nil: the terminal's own, or a pipe
	screen terminal.Screen
	busy   atomic.Bool // an answer is waited for
	seq    uint64      // up to this commit of the session, all has been counted
}

// errLeft tells that whoever types wants no more, or has no more to say.
var errLeft = errors.New("the chat is left")

func (a *app) chat(ctx context.Context, agent string, from chatStart, logs *logFlags) error {
	c := &chat{app: a, person: isTerminal(a.stdin) && isTerminal(a.stdout), screen: a.screen()}
	keys, restore := c.openEditor()
	defer restore()
	place, err := a.join(ctx, logs.logger(a.stderr, a.getenv))
	if err != nil {
		return err
	}
	defer func() {
		if left := place.leave(); left != nil {
			a.warn("stop the host: %v", left)
		}
	}()
	if agent, err = choose(agent, place.agents); err != nil {
		return err
	}
	if err := c.begin(ctx, place, agent, from); err != nil {
		return err
	}
	if err := c.dialog.listen(c.person); err != nil {
		return err
	}
	defer c.dialog.close()
	if c.person {
		fmt.Fprintf(a.stdout, "%s %s. Ctrl-D or /quit ends the chat, /help tells more.\n\n", place.about, agent)
		c.showEarlier(ctx)
	}
	if c.lines = keys(ctx); c.lines == nil {
		c.lines = readLines(ctx, c.stdin)
	}
	return c.talk(ctx)
}

// choose is the agent to talk to.
func choose(agent string, ids []string) (string, error) {
	switch {
	case agent != "":
		if slices.Contains(ids, agent) {
			return agent, nil
		}
		return "", noSuchAgent(agent, ids)
	case len(ids) == 1:
		return ids[0], nil
	case len(ids) == 0:
		return "", errors.New("there is no agent to talk to")
	}
	return "", fmt.Errorf("there are several agents; name one of %s", strings.Join(ids, ", "))
}

func userName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "anonymous"
}

// talk asks and answers until the input ends or somebody wants it to.
func (c *chat) talk(ctx context.Context) error {
	if c.lines == nil {
		c.lines = readLines(ctx, c.stdin)
	}
	for {
		c.prompt(youPrompt)
		text, err := c.read(ctx)
		switch {
		case err != nil:
		case text == stopWord:
			c.notice("there is nothing to stop")
		case c.person && text == helpWord:
			fmt.Fprint(c.stdout, chatHelp)
		case c.person && text == newWord:
			err = c.startOver()
		case text != "":
			err = c.ask(ctx, text)
		}
		if err != nil {
			return c.over(ctx, err)
		}
	}
}

// read is the next message. The error is errLeft when there is none.
func (c *chat) read(ctx context.Context) (string, error) {
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
		if !ok {
			c.prompt("\n")
			return "", errLeft
		}
	}
	if l.err != nil {
		return "", fmt.Errorf("read message: %w", l.err)
	}
	text := strings.TrimSpace(l.text)
	if text == quitWord {
		return "", errLeft
	}
	return text, nil
}

// What a line can be besides a message.
const (
	quitWord = "/quit"
	stopWord = "/stop"
	helpWord = "/help"
	newWord  = "/new"
)

// youPrompt is what a line of the person begins with.
const youPrompt = "you> "

const chatHelp = `  /stop   stop what is under way (or press Ctrl-C)
  /new    begin another session; this one stays, see agenthost sessions ls
  /quit   end the chat (or press Ctrl-D)
  Alt-Enter, or a backslash at the end of a line, begins another line.
  When the agent asks, the next line is the answer: approve, deny, or text.

`

// ask asks and prints the answer. Only the end of the chat is an error.
func (c *chat) ask(ctx context.Context, text string) error {
	q := newQuestion(text)
	c.prompt(c.name())
	if _, err := c.dialog.send(ctx, q); err != nil {
		return c.fail(ctx, err)
	}
	c.busy.Store(true)
	begun, calm := time.Now(), c.signOfLife()
	x := newExchange(c)
	got, err := c.dialog.answer(ctx, q, x.listener(ctx))
	calm()
	c.busy.Store(false)
	if errors.Is(err, errLeft) {
		return err
	}
	x.resume()
	if err == nil {
		err = c.printAnswer(got, x.speech)
	}
	if err != nil {
		return c.fail(ctx, err)
	}
	c.printCost(ctx, time.Since(begun))
	c.prompt("\n")
	return nil
}

// name is what a line of the agent begins with.
func (c *chat) name() string { return c.dialog.agent + "> " }

// fail tells why there is no answer. The chat goes on unless ctx has ended.
func (c *chat) fail(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.failed = true
	if c.person {
		fmt.Fprintf(c.stdout, clearLine+"%s> error: %s\n\n", c.dialog.agent, printable(err.Error()))
		return nil
	}
	c.warn("%v", err)
	return nil
}

// over is how a chat ends that err has ended: who pressed Ctrl-C at a terminal
// got what they wanted.
func (c *chat) over(ctx context.Context, err error) error {
	switch {
	case errors.Is(err, errLeft):
		return c.end()
	case c.person && ctx.Err() != nil:
		c.prompt("\n")
		return nil //nolint:nilerr // leaving with Ctrl-C is no failure
	}
	return err
}

// end is how a chat ends: a script wants to know that an answer is missing.
func (c *chat) end() error {
	if c.failed && !c.person {
		return errReported
	}
	return nil
}

// prompt writes what only a person wants to see.
func (c *chat) prompt(text string) {
	if c.person {
		fmt.Fprint(c.stdout, text)
	}
}

// notice tells what is no answer: a script finds it on standard error.
func (c *chat) notice(format string, args ...any) {
	if !c.person {
		c.warn(format, args...)
		return
	}
	fmt.Fprint(c.stdout, clearLine)
	say(c.stdout, "! "+format+"\n", args...)
}
