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
		Use:   "retry NUMBER|ID... | --all [AGENT]",
		Short: "Send the message of a dead letter again",
		Long: `Retry sends the message of a dead letter again, as a new one and for the agent of
the letter alone, and deletes the letter. A message that still cannot be handled
becomes a dead letter again. The letter of an agent that no host serves stays.
NUMBER is the first column of ls, dead_seq with --json; ID is id there.`,
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
		Use:   "purge NUMBER|ID... | --all [AGENT]",
		Short: "Delete dead letters for good",
		Long: `Purge deletes dead letters for good. It asks for confirmation; without a
terminal it needs --force. NUMBER is the first column of ls, dead_seq with --json;
ID is id there.`,
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
			return errors.New("want NUMBER or ID, or --all")
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
	return cli.Usage("dead letter %q: want its number or its id, as dead ls shows them", name)
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
	l, err := g.Get(ctx, seq)
	if errors.Is(err, client.ErrNoDeadLetter) {
		return l, numberOf(ctx, g, seq, err)
	}
	return l, err
}

// numberOf adds to the error of a number that no dead letter has which number is meant: a
// script easily takes that of the message, seq in ls --json.
func numberOf(ctx context.Context, g *client.DeadLetters, seq uint64, unknown error) error {
	var meant client.DeadLetter
	for l, err := range g.Letters(ctx, "", 0) {
		if err != nil {
			return unknown
		}
		if l.Seq == seq {
			meant = l
		}
	}
	if meant.DeadSeq == 0 {
		return fmt.Errorf("%w; want its NUMBER in dead ls, which is dead_seq with --json, or its id", unknown)
	}
	return fmt.Errorf("%w; the message %s %d (seq) is dead letter %d (dead_seq): a dead letter is named by its own number",
		unknown, meant.Stream, seq, meant.DeadSeq)
}
