package main

import (
	"context"
	"errors"
	"strconv"

	"agenthost/internal/control"

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
func (s *selection) of(ctx context.Context, g *control.DeadLetters, args []string) ([]control.DeadLetter, error) {
	if s.all {
		agent, err := agentOf(args)
		if err != nil {
			return nil, err
		}
		return allLetters(ctx, g, agent)
	}
	var list []control.DeadLetter
	for _, arg := range args {
		seq, err := sequence(arg)
		if err != nil {
			return nil, err
		}
		l, err := g.Get(ctx, seq)
		if err != nil {
			return nil, err
		}
		list = append(list, l)
	}
	return list, nil
}

// allLetters are the dead letters of an agent, or of all when it is empty.
func allLetters(ctx context.Context, g *control.DeadLetters, agent string) ([]control.DeadLetter, error) {
	list := []control.DeadLetter{}
	for l, err := range g.Letters(ctx, agent, 0) {
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
	return args[0], checkAgent(args[0])
}

// sequence reads the number of a dead letter.
func sequence(arg string) (uint64, error) {
	seq, err := strconv.ParseUint(arg, 10, 64)
	if err != nil || seq == 0 {
		return 0, usage("dead letter %q: want its number, as ls shows it", arg)
	}
	return seq, nil
}
