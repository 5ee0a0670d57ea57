package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"agenthost/internal/control"

	"github.com/spf13/cobra"
)

func (a *app) deadPurgeCommand() *cobra.Command {
	which := &selection{}
	var force bool
	cmd := &cobra.Command{
		Use:   "purge SEQ... | --all [AGENT]",
		Short: "Delete dead letters for good",
		Long: `Purge deletes dead letters for good. It asks for confirmation; without a
terminal it needs --force.`,
		Example: `  agenthost dead purge 12
  agenthost dead purge --all assistant --force`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !force && !isTerminal(a.stdin) {
				return usage("not a terminal: use --force to delete without confirmation")
			}
			return a.withDeadLetters(cmd.Context(), func(g *control.DeadLetters) error {
				list, err := which.of(cmd.Context(), g, args)
				if err != nil {
					return err
				}
				if len(list) > 0 && !force && !a.confirm("delete "+count(len(list), "dead letter")+" for good?") {
					return errors.New("nothing was deleted")
				}
				return a.deadPurge(cmd.Context(), g, list)
			})
		},
	}
	which.register(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "do not ask")
	a.configFlag(cmd)
	return cmd
}

// confirm asks a person.
func (a *app) confirm(what string) bool {
	say(a.stderr, "%s [y/N] ", what)
	text, _ := bufio.NewReader(a.stdin).ReadString('\n') // no answer is a no
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes":
		return true
	}
	return false
}

// deadPurge deletes just what was listed: what died since stays.
func (a *app) deadPurge(ctx context.Context, g *control.DeadLetters, list []control.DeadLetter) error {
	for _, l := range list {
		if err := g.Delete(ctx, l.DeadSeq); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(map[string]int{"deleted": len(list)})
	}
	fmt.Fprintf(a.stdout, "deleted %s\n", count(len(list), "dead letter"))
	return nil
}
