package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"
)

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
			return checkAgent(args[0])
		case !s.all && len(args) == 0:
			return errors.New("want SEQ, or --all")
		case s.all:
			return nil
		}
		for _, arg := range args {
			if _, err := sequence(arg); err != nil {
				return err
			}
		}
		return nil
	}
}

// of are the selected dead letters. A number that is none is an error.
func (s *selection) of(ctx context.Context, g *grave, args []string) ([]deadLetter, error) {
	if s.all {
		subject, err := graveSubject(args)
		if err != nil {
			return nil, err
		}
		return g.of(ctx, subject)
	}
	var list []deadLetter
	for _, arg := range args {
		seq, err := sequence(arg)
		if err != nil {
			return nil, err
		}
		l, err := g.get(ctx, seq)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}
