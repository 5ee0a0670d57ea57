package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/internal/control"

	"github.com/spf13/cobra"
)

func (a *app) runsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:     "runs",
		Short:   "List and stop the runs of agents",
		Long:    "A run is what an agent does to answer a message; a session has one at a time.",
		Example: "  agenthost runs ls\n  agenthost runs abort assistant web/dm/7",
	}, a.runsListCommand(), a.runsAbortCommand())
}

// An aborting is what runs abort was told.
type aborting struct {
	control.Stop
	timeout time.Duration
}

func (a *app) runsAbortCommand() *cobra.Command {
	s := aborting{}
	cmd := &cobra.Command{
		Use:   "abort AGENT SESSION",
		Short: "Stop the run of a session",
		Long: `Abort stops the run of a session, whether it is under way or waits for somebody.
SESSION is its key, as in the field session of what the agent publishes.`,
		Example: `  agenthost runs abort assistant web/dm/7
  agenthost runs abort assistant telegram/group/-10012 --reason 'That is enough.'`,
		Args: takes("AGENT", "SESSION"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.Agent, s.Session = args[0], args[1]
			switch {
			case s.Session == "":
				return usage("the session is empty")
			case s.By == "":
				return usage("--by is empty")
			case s.timeout <= 0:
				return usage("--timeout %s: want more than 0", s.timeout)
			}
			if err := checkAgent(s.Agent); err != nil {
				return err
			}
			return a.abort(cmd.Context(), s)
		},
	}
	cmd.Flags().StringVar(&s.Reason, "reason", "", "what the person is told")
	cmd.Flags().StringVar(&s.By, "by", "cli", "who stops it")
	cmd.Flags().DurationVar(&s.timeout, "timeout", orderWithin, "how long to wait for the word of the host")
	a.configFlag(cmd)
	return cmd
}

func (a *app) abort(ctx context.Context, s aborting) error {
	o, err := a.newOrder(ctx)
	if err != nil {
		return err
	}
	defer o.nc.Close()
	s.Door = bus.DoorCLI
	msg, err := s.Message(o.inbox.Subject)
	if err != nil {
		return err
	}
	told, err := o.give(ctx, s.Agent, msg, s.timeout)
	switch {
	case errors.Is(err, errNoWord):
		a.warn("no host took the order yet; it waits in the stream %s", told.stream)
		return a.printOrder(s.Session, "stored", "the order is stored")
	case err != nil:
		return fmt.Errorf("stop %s of %s: %w", s.Session, s.Agent, err)
	case told.Error != nil:
		return fmt.Errorf("stop %s of %s: there is nothing to stop", s.Session, s.Agent)
	}
	return a.printOrder(s.Session, "stopped", "stopped")
}
