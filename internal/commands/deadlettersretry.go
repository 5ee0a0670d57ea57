package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"agenthost/client"
	"agenthost/internal/cli"

	"github.com/spf13/cobra"
)

func (a *app) deadRetryCommand() *cobra.Command {
	which := &selection{}
	cmd := &cobra.Command{
		Use:   "retry SEQ|ID... | --all [AGENT]",
		Short: "Send the message of a dead letter again",
		Long: `Retry sends the message of a dead letter again, as a new one and for the agent of
the letter alone, and deletes the letter. A message that still cannot be handled
becomes a dead letter again. The letter of an agent that no host serves stays. A
letter is named by its number, or by the id that ls --json has of it.`,
		Example: `  agenthost dead retry 12
  agenthost dead retry --all assistant`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDeadLetters(cmd.Context(), func(g *client.DeadLetters) error {
				list, err := which.of(cmd.Context(), g, args)
				if err != nil {
					return err
				}
				return a.deadRetry(cmd.Context(), g, list)
			})
		},
	}
	which.register(cmd)
	a.ConfigFlag(cmd)
	return cmd
}

// deadRetry goes on after a letter that cannot be sent again, and fails in the
// end.
func (a *app) deadRetry(ctx context.Context, g *client.DeadLetters, list []client.DeadLetter) error {
	done := []client.Retried{}
	var failed error
	for _, l := range list {
		r, err := g.Retry(ctx, l)
		if err != nil {
			failed = cli.ErrReported
			a.Warn("retry dead letter %d: %v", l.DeadSeq, err)
			continue
		}
		done = append(done, r)
		if !a.JSON {
			cli.Say(a.Stdout, "%d: sent again to %s\n", r.DeadSeq, r.Subject)
		}
	}
	if a.JSON {
		return errors.Join(failed, a.PrintJSON(done))
	}
	if len(list) == 0 {
		fmt.Fprintln(a.Stdout, "no dead letters")
	}
	return failed
}

func (a *app) deadPurgeCommand() *cobra.Command {
	which := &selection{}
	var deletion *cli.Deletion
	cmd := &cobra.Command{
		Use:   "purge SEQ|ID... | --all [AGENT]",
		Short: "Delete dead letters for good",
		Long: `Purge deletes dead letters for good. It asks for confirmation; without a
terminal it needs --force. A letter is named by its number, or by the id that ls
--json has of it.`,
		Example: `  agenthost dead purge 12
  agenthost dead purge --all assistant --force`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := deletion.Check(); err != nil {
				return err
			}
			return a.withDeadLetters(cmd.Context(), func(g *client.DeadLetters) error {
				list, err := which.of(cmd.Context(), g, args)
				if err != nil {
					return err
				}
				if err := deletion.Confirm(cmd.Context(), len(list), "dead letter"); err != nil {
					return err
				}
				for _, l := range list { // just what was listed: what died since stays
					if err := g.Delete(cmd.Context(), l.DeadSeq); err != nil {
						return err
					}
				}
				return deletion.Report(len(list), "dead letter")
			})
		},
	}
	which.register(cmd)
	deletion = a.Deletion(cmd)
	a.ConfigFlag(cmd)
	return cmd
}

// A selection is which dead letters a command is about: some by number, or all
// of an agent, or all.
type selection struct{ all bool }

func (s *selection) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.all, "all", false, "all dead letters, or all of AGENT")
	cmd.Args = func(_ *cobra.Command, args []string) error {
		switch {
		case s.all && len(args) > 1:
			return errors.New("want at most one AGENT with --all")
		case s.all && len(args) == 1:
			return cli.CheckAgent(args[0])
		case !s.all && len(args) == 0:
			return errors.New("want SEQ, or --all")
		case s.all:
			return nil
		}
		for _, arg := range args {
			if err := checkLetter(arg); err != nil {
				return err
			}
		}
		return nil
	}
}

// of are the selected dead letters. An unknown number is an error.
func (s *selection) of(ctx context.Context, g *client.DeadLetters, args []string) ([]client.DeadLetter, error) {
	if s.all {
		agent, err := agentOf(args)
		if err != nil {
			return nil, err
		}
		return g.All(ctx, agent)
	}
	var list []client.DeadLetter
	for _, arg := range args {
		l, err := letterOf(ctx, g, arg)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// agentOf is the agent that args name, if they name one.
func agentOf(args []string) (string, error) {
	if len(args) == 0 {
		return "", nil
	}
	return args[0], cli.CheckAgent(args[0])
}

// checkLetter checks what names a dead letter: its number, or its id.
func checkLetter(name string) error {
	if seq, err := strconv.ParseUint(name, 10, 64); err == nil && seq > 0 || isLetterID(name) {
		return nil
	}
	return cli.Usage("dead letter %q: want its number or its id, as ls shows them", name)
}

// isLetterID reports whether a name is an id, such as dead:ana:AGENT_INBOUND:62.
func isLetterID(name string) bool { return strings.Contains(name, ":") }

// letterOf is the dead letter with a number or an id.
func letterOf(ctx context.Context, g *client.DeadLetters, name string) (client.DeadLetter, error) {
	if isLetterID(name) {
		return g.Find(ctx, name)
	}
	seq, err := strconv.ParseUint(name, 10, 64)
	if err != nil {
		return client.DeadLetter{}, checkLetter(name)
	}
	return g.Get(ctx, seq)
}
