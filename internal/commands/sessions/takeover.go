package sessions

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

// handBackWord is the line that ends a takeover.
const handBackWord = "/handback"

// An operating is the arguments of takeover, say and handback.
type operating struct {
	client.OperatorOrder
	timeout time.Duration
}

// operatorCommand is a command of an operator about one session.
func (a *app) operatorCommand(cmd *cobra.Command, do func(context.Context, *client.Client, operating) error, takes ...string) *cobra.Command {
	o := operating{}
	cmd.Args = cli.Takes(takes...)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		o.Agent, o.Session = args[0], args[1]
		switch {
		case o.Session == "":
			return cli.Usage("the session is empty")
		case o.By == "":
			return cli.Usage("--by is empty")
		case o.timeout <= 0:
			return cli.Usage("--timeout %s: want more than 0", o.timeout)
		}
		if len(args) > 2 {
			if o.Text, err = a.Text(args[2]); err != nil {
				return err
			}
			if strings.TrimSpace(o.Text) == "" {
				return cli.Usage("the text is empty")
			}
		}
		if err := cli.CheckAgent(o.Agent); err != nil {
			return err
		}
		return a.WithClient(cmd.Context(), func(c *client.Client) error {
			return unknown(do(cmd.Context(), c, o), o.Agent, o.Session)
		})
	}
	cmd.Flags().StringVar(&o.By, "by", cli.Operator(), "who does it, as the log and the agent are told")
	cmd.Flags().DurationVar(&o.timeout, "timeout", client.OrderWithin, "how long to wait for the report of the host")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) takeOverCommand() *cobra.Command {
	return a.operatorCommand(&cobra.Command{
		Use:   "takeover AGENT KEY",
		Short: "Take a chat over: you write, the agent is silent",
		Long: `Takeover ends the run under way in a session and keeps its agent from answering.
What people write from then on is kept in the session and shown here, and each line
of standard input goes to them, by their channel. A line of /handback gives the chat
back to the agent, which knows all that was said. At the end of standard input
(ctrl-d) the chat stays taken over, across restarts, until it is handed back.`,
		Example: `  agenthost sessions takeover assistant telegram.sales/dm/42 --by kate
  echo "Kate here, one moment." | agenthost sessions takeover assistant telegram.sales/dm/42`,
	}, a.takeOver, "AGENT", "KEY")
}

func (a *app) sayCommand() *cobra.Command {
	return a.operatorCommand(&cobra.Command{
		Use:   "say AGENT KEY TEXT",
		Short: "Write into a chat that was taken over",
		Long: `Say sends TEXT to the last sender in a chat that was taken over. A TEXT of
- is read from standard input.`,
		Example: `  agenthost sessions say assistant telegram.sales/dm/42 "I am looking into it." --by kate`,
	}, func(ctx context.Context, c *client.Client, o operating) error {
		out, err := c.Say(ctx, o.OperatorOrder, o.timeout)
		return a.printOperated(out, err, "said", "sent")
	}, "AGENT", "KEY", "TEXT")
}

func (a *app) handBackCommand() *cobra.Command {
	return a.operatorCommand(&cobra.Command{
		Use:   "handback AGENT KEY",
		Short: "Hand a chat back to its agent",
		Long: `Handback ends a takeover. The agent answers from the next message on; it knows what
people and the operator have said meanwhile.`,
		Example: `  agenthost sessions handback assistant telegram.sales/dm/42 --by kate`,
	}, func(ctx context.Context, c *client.Client, o operating) error {
		out, err := c.HandBack(ctx, o.OperatorOrder, o.timeout)
		return a.printOperated(out, err, "handed back", "handed back")
	}, "AGENT", "KEY")
}

// printOperated prints what became of an order.
func (a *app) printOperated(out client.Outcome, err error, state, words string) error {
	switch {
	case err != nil:
		return err
	case out.Stored != "":
		a.Warn("no host took the order yet; it waits in the stream %s", out.Stored)
		return a.PrintOrder(out.Session, "stored", "the order is stored")
	}
	return a.PrintOrder(out.Session, state, words)
}

// takeOver takes a chat over and passes lines on until there are none.
func (a *app) takeOver(ctx context.Context, c *client.Client, o operating) error {
	sid, err := c.Sessions().Find(ctx, o.Agent, o.Session)
	if err != nil {
		return err
	}
	out, err := c.TakeOver(ctx, o.OperatorOrder, o.timeout)
	if err := a.printOperated(out, err, "taken over", "taken over"); err != nil || out.Stored != "" {
		return err
	}
	o.Session = out.Session
	if cli.IsTerminal(a.Stdout) && !a.JSON {
		watching, stop := context.WithCancel(ctx)
		shown := make(chan struct{})
		go func() { defer close(shown); a.showHeard(watching, c, o.Agent, sid) }()
		defer func() { stop(); <-shown }()
		a.Warn("write to them; %s hands the chat back, ctrl-d leaves it taken over", handBackWord)
	}
	handed, err := a.passOn(ctx, c, o)
	if err == nil && !handed {
		a.Warn(`the chat stays taken over; "agenthost sessions handback %s %s" gives it back`, o.Agent, terminal.Printable(o.Session))
	}
	return err
}

// passOn sends the lines of standard input, and reports whether one handed the chat back.
func (a *app) passOn(ctx context.Context, c *client.Client, o operating) (handed bool, err error) {
	lines := bufio.NewScanner(a.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		o.Text = strings.TrimSpace(lines.Text())
		switch o.Text {
		case "":
			continue
		case handBackWord:
			out, err := c.HandBack(ctx, o.OperatorOrder, o.timeout)
			return true, a.printOperated(out, err, "handed back", "handed back")
		}
		out, err := c.Say(ctx, o.OperatorOrder, o.timeout)
		switch {
		case err != nil:
			return false, err
		case out.Stored != "":
			a.Warn("no host took the line yet; it waits in the stream %s", out.Stored)
		}
	}
	return false, lines.Err()
}

// showHeard prints what is said in a session until ctx ends.
func (a *app) showHeard(ctx context.Context, c *client.Client, agent, sid string) {
	for f, err := range c.Sessions().Follow(ctx, agent, sid, func() {}) {
		if err != nil {
			if !errors.Is(err, context.Canceled) {
				a.Warn("%s", fmt.Sprintf("what comes is not shown any more: %v", err))
			}
			return
		}
		a.printFact(f)
	}
}
