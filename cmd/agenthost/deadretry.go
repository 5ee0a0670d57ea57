package main

import (
	"context"
	"errors"
	"fmt"

	"agenthost/internal/control"

	"github.com/spf13/cobra"
)

func (a *app) deadRetryCommand() *cobra.Command {
	which := &selection{}
	cmd := &cobra.Command{
		Use:   "retry SEQ... | --all [AGENT]",
		Short: "Send the message of a dead letter again",
		Long: `Retry sends the message of a dead letter again, as a new one, and deletes the
letter. A message that cannot be handled dies again.`,
		Example: `  agenthost dead retry 12
  agenthost dead retry --all assistant`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withDeadLetters(cmd.Context(), func(g *control.DeadLetters) error {
				list, err := which.of(cmd.Context(), g, args)
				if err != nil {
					return err
				}
				return a.deadRetry(cmd.Context(), g, list)
			})
		},
	}
	which.register(cmd)
	a.configFlag(cmd)
	return cmd
}

// deadRetry goes on after a letter that cannot be sent again, and fails in the
// end.
func (a *app) deadRetry(ctx context.Context, g *control.DeadLetters, list []control.DeadLetter) error {
	done := []control.Retried{}
	var failed error
	for _, l := range list {
		r, err := g.Retry(ctx, l)
		if err != nil {
			failed = errReported
			a.warn("retry dead letter %d: %v", l.DeadSeq, err)
			continue
		}
		done = append(done, r)
		if !a.json {
			say(a.stdout, "%d: sent again to %s\n", r.DeadSeq, r.Subject)
		}
	}
	if a.json {
		return errors.Join(failed, a.printJSON(done))
	}
	if len(list) == 0 {
		fmt.Fprintln(a.stdout, "no dead letters")
	}
	return failed
}
