package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

func (a *app) approvalsCommand() *cobra.Command {
	return cli.Group(
		&cobra.Command{
			Use:        "approvals",
			SuggestFor: []string{"approve", "deny", "answer", "questions"},
			Short:      "List and answer what agents ask people",
			Long: `Agents ask for approval before they use a tool that may change something, and
they may ask questions. What is open waits, even while no host runs, and can be
answered in the chat, with this command or by any program. The first answer
counts.`,
			Example: `  agenthost approvals ls
  agenthost approvals show ana.4j2k….q7xn…
  agenthost approvals answer ana.4j2k….q7xn… approve --scope session
  agenthost approvals allowed`,
		},
		a.approvalsListCommand(), a.approvalsShowCommand(), a.approvalsAnswerCommand(), a.approvalsAllowedCommand(), a.approvalsRevokeCommand(),
	)
}

// A listing is which of what waits is listed.
type listing struct {
	cli.ListFlags
	all bool
}

func (a *app) approvalsListCommand() *cobra.Command {
	l := &listing{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the open approvals and questions",
		Example: `  agenthost approvals ls
  agenthost approvals ls --agent assistant --json
  agenthost approvals ls --since 1h --watch`,
		Args: cli.Takes(),
	}
	l.Register(a.App, cmd, func(ctx context.Context) error {
		return a.WithClient(ctx, func(c *client.Client) error { return a.listWaiting(ctx, c, l) })
	})
	cmd.Flags().BoolVar(&l.all, "all", false, "also what waits for another agent")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) listWaiting(ctx context.Context, c *client.Client, l *listing) error {
	list, err := c.Waiting(ctx)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(w client.Waiting) bool {
		return !l.Keeps(w.Agent, w.AskedAt) || !l.all && w.Kind == client.ForDelegate
	})
	switch {
	case a.JSON:
		return a.PrintJSON(append([]client.Waiting{}, list...))
	case len(list) == 0:
		return l.None(ctx, a.App, "no pending approvals or questions")
	}
	t := a.Table("ID", "AGENT", "KIND", "SINCE", "PROMPT")
	for _, one := range list {
		t.Row(one.ID, one.Agent, one.Kind, cli.Time(one.AskedAt), prompt(one))
	}
	return t.Write(a.Stdout)
}

// prompt is what is asked, in a line.
func prompt(w client.Waiting) string {
	text := cli.OneLine(w.Prompt)
	if w.Kind == client.ForQuestion && len(w.Options) > 0 {
		text += " (" + terminal.Printable(strings.Join(w.Options, ", ")) + ")"
	}
	if w.Kind == client.ForDelegate {
		text = "to " + w.To + ": " + text
	}
	return text
}

func (a *app) approvalsShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show all of an open approval or question",
		Long: `Show prints an approval or question that ls lists, with all arguments of the tool
call. No host needs to run.`,
		Example: `  agenthost approvals show ana.4j2k….q7xn…
  agenthost approvals show ana.4j2k….q7xn… --json`,
		Args: cli.Takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithClient(cmd.Context(), func(c *client.Client) error {
				return a.showWaiting(cmd.Context(), c, args[0])
			})
		},
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) showWaiting(ctx context.Context, c *client.Client, id string) error {
	w, err := c.FindWaiting(ctx, id)
	if err != nil {
		return err
	}
	call, err := c.WholeCall(ctx, w)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(struct {
			client.Waiting
			Whole string `json:"whole"`
		}{w, call})
	}
	fmt.Fprintf(a.Stdout, "%s of %s, in %s, since %s\n\n%s\n", w.Kind, w.Agent, terminal.Printable(w.Session), w.AskedAt.Local().Format(time.DateTime), terminal.Printable(call))
	if w.Kind == client.ForQuestion && len(w.Options) > 0 {
		fmt.Fprintln(a.Stdout, terminal.Printable(strings.Join(w.Options, ", ")))
	}
	return nil
}

// An answering is the arguments of approvals answer.
type answering struct {
	client.Answer
	scope   cli.Choice
	args    string
	timeout time.Duration
}

func (a *app) approvalsAnswerCommand() *cobra.Command {
	s := answering{scope: cli.Choice{Among: client.Scopes()}}
	cmd := &cobra.Command{
		Use:   "answer ID approve|deny|TEXT",
		Short: "Answer an approval or a question",
		Long: `Answer answers an approval or a question, and waits for the report of the host.
Without a running host the answer is stored for the next one. With --scope session
or always the same call runs again without asking. With --args the call runs with
these arguments instead of those that were shown; the model is told.`,
		Example: `  agenthost approvals answer ana.4j2k….q7xn… approve
  agenthost approvals answer ana.4j2k….q7xn… approve --scope always --by "Ana Lind"
  agenthost approvals answer ana.4j2k….q7xn… approve --args '{"path":"other.txt","text":"hello"}'
  agenthost approvals answer ana.4j2k….q7xn… 'the blue one'`,
		Args: cli.Takes("ID", "approve|deny|TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.ID, s.Text, s.Scope, s.Args = args[0], args[1], s.scope.Value, json.RawMessage(s.args)
			switch {
			case strings.TrimSpace(s.Text) == "":
				return cli.Usage("the answer is empty")
			case s.By == "":
				return cli.Usage("--by is empty")
			}
			for _, flag := range []string{"scope", "args"} {
				if cmd.Flags().Changed(flag) && strings.EqualFold(strings.TrimSpace(s.Text), client.Deny) {
					return cli.Usage("--%s needs the answer approve", flag)
				}
			}
			if err := cli.CheckTimeout(s.timeout); err != nil {
				return err
			}
			if s.args != "" && (!json.Valid(s.Args) || !bus.IsObject(s.Args)) {
				return cli.Usage(`--args: want a JSON object, such as {"path":"other.txt"}`)
			}
			return a.answerWaiting(cmd.Context(), s)
		},
	}
	cmd.Flags().Var(&s.scope, "scope", "how far an approval goes (default once)")
	cmd.Flags().StringVar(&s.args, "args", "", "JSON arguments to run an approved call with")
	cmd.Flags().StringVar(&s.By, "by", cli.Operator(), "who answers")
	cmd.Flags().DurationVar(&s.timeout, "timeout", client.OrderWithin, "how long to wait for the report of the host")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) answerWaiting(ctx context.Context, s answering) error {
	return a.WithClient(ctx, func(c *client.Client) error {
		done, err := c.Answer(ctx, s.Answer, s.timeout)
		id := cmp.Or(done.Waiting.ID, s.ID)
		refused, ok := errors.AsType[*client.RefusedError](err)
		switch {
		case ok && len(s.Args) > 0:
			return fmt.Errorf("answer %q: %s", id, terminal.Printable(refused.Why.Message))
		case ok:
			return fmt.Errorf("answer %q: it is already answered, or its run has ended", id)
		case err != nil:
			return err
		case done.Stored != "":
			a.Warn("no host took the answer yet; it waits in the stream %s", done.Stored)
			return a.PrintOrder(id, "stored", "the answer is stored")
		}
		return a.PrintOrder(id, "answered", "answered "+terminal.Printable(cli.OneLine(s.Text)+": "+prompt(done.Waiting)))
	})
}

func (a *app) approvalsAllowedCommand() *cobra.Command {
	l := &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:   "allowed",
		Short: "List standing approvals",
		Example: `  agenthost approvals allowed
  agenthost approvals allowed --agent assistant --json`,
		Args: cli.Takes(),
	}
	l.Register(a.App, cmd, func(ctx context.Context) error {
		return a.WithClient(ctx, func(c *client.Client) error { return a.listAllowed(ctx, c, l) })
	})
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) listAllowed(ctx context.Context, c *client.Client, l *cli.ListFlags) error {
	list, err := c.Allowed(ctx)
	list = slices.DeleteFunc(list, func(one client.Allowed) bool { return !l.Keeps(one.Agent, one.At) })
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(append([]client.Allowed{}, list...))
	case len(list) == 0:
		fmt.Fprintln(a.Stdout, "no standing approvals")
		return nil
	}
	t := a.Table("ID", "AGENT", "SESSION", "WHAT", "BY", "SINCE")
	for _, one := range list {
		t.Row(one.ID, one.Agent, cmp.Or(one.Session, "all"), one.What, one.By, cli.Time(one.At))
	}
	return t.Write(a.Stdout)
}

func (a *app) approvalsRevokeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "revoke ID",
		Short:   "Revoke a standing approval",
		Example: "  agenthost approvals revoke ana.all.k3v…",
		Args:    cli.Takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.WithClient(cmd.Context(), func(c *client.Client) error { return a.revoke(cmd.Context(), c, args[0]) })
		},
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) revoke(ctx context.Context, c *client.Client, id string) error {
	was, err := c.Revoke(ctx, id)
	if err != nil {
		return err
	}
	if a.JSON {
		return a.PrintJSON(was)
	}
	cli.Say(a.Stdout, "%s of %s is asked again\n", terminal.Printable(was.What), was.Agent)
	return nil
}
