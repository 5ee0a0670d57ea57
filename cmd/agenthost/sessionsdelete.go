package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/internal/control"

	"github.com/spf13/cobra"
)

// deleteWithin bounds the deletion of one session, which may have to look for
// its objects in all others.
const deleteWithin = time.Minute

func (a *app) sessionsDeleteCommand() *cobra.Command {
	var peer string
	var force bool
	cmd := &cobra.Command{
		Use:   "delete AGENT KEY | AGENT --peer ID",
		Short: "Delete a session, or all direct ones with a person",
		Long: `Delete deletes a session with all that is only in it: log, snapshot, objects,
what waits in it and what is allowed in it. The person begins anew. With --peer
these are the direct conversations of the agent with that person on all
channels; what was said in groups stays. It asks for confirmation; without a
terminal it needs --force.`,
		Example: `  agenthost sessions delete assistant web/dm/ana
  agenthost sessions delete assistant --peer ana --force`,
		Args: func(_ *cobra.Command, args []string) error {
			if peer != "" && len(args) == 2 {
				return errors.New("want KEY or --peer, not both")
			}
			if peer != "" {
				return takes("AGENT")(nil, args)
			}
			return takes("AGENT", "KEY")(nil, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkAgent(args[0]); err != nil {
				return err
			}
			if peer == "" {
				if _, err := sessionID(args[0], args[1]); err != nil {
					return err
				}
			}
			if !force && !isTerminal(a.stdin) {
				return usage("not a terminal: use --force to delete without confirmation")
			}
			return a.withSessions(cmd.Context(), func(s *shelf) error {
				keys, err := s.condemned(cmd.Context(), args, peer)
				if err != nil {
					return err
				}
				if len(keys) > 0 && !force && !a.confirm("delete "+count(len(keys), "session")+" for good?") {
					return errors.New("nothing was deleted")
				}
				return a.deleteSessions(cmd.Context(), s, args[0], keys)
			})
		},
	}
	cmd.Flags().StringVar(&peer, "peer", "", "all direct sessions with the person of that `id`")
	cmd.Flags().BoolVar(&force, "force", false, "do not ask")
	a.configFlag(cmd)
	return cmd
}

// condemned are the keys of what is to be deleted.
func (s *shelf) condemned(ctx context.Context, args []string, peer string) ([]string, error) {
	if peer == "" {
		return args[1:], nil
	}
	keys, err := s.Of(ctx, args[0], peer)
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = string(key)
	}
	return list, err
}

func (a *app) deleteSessions(ctx context.Context, s *shelf, agent string, keys []string) error {
	deleted := []control.Deletion{}
	for _, key := range keys {
		ctx, cancel := context.WithTimeout(ctx, deleteWithin)
		d, err := control.DeleteSession(ctx, s.nc, s.Archive, control.Removal{Agent: agent, Session: key})
		cancel()
		if errors.Is(err, control.ErrSessionRunning) {
			err = fmt.Errorf("delete %s: %w; stop it first: agenthost runs abort %s '%s'", key, err, agent, key)
		}
		if err != nil {
			return unknown(err, agent, key)
		}
		deleted = append(deleted, d)
	}
	if a.json {
		return a.printJSON(deleted)
	}
	for _, d := range deleted {
		fmt.Fprintf(a.stdout, "deleted %s of %s: %s, %s\n", printable(string(d.Key)), agent, count(d.Commits, "commit"), count(d.Objects, "object"))
	}
	if len(deleted) == 0 {
		fmt.Fprintln(a.stdout, "no sessions")
	}
	return nil
}
