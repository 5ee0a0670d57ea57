package sessions

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

func (a *app) deleteCommand() *cobra.Command {
	var peer string
	var deletion *cli.Deletion
	cmd := &cobra.Command{
		Use:        "delete AGENT KEY | AGENT --peer ID",
		SuggestFor: []string{"rm", "remove"},
		Short:      "Delete a session, or all direct ones with a person",
		Long: `Delete deletes a session with everything that belongs to it: log, snapshot, files,
open questions and approvals. The person's next message begins a new one. With
--peer it deletes the direct conversations of the agent with that person on all
channels; what was said in groups stays. It asks for confirmation; without a
terminal it needs --force.`,
		Example: `  agenthost sessions delete assistant web/dm/ana
  agenthost sessions delete assistant --peer ana --force`,
		Args: func(_ *cobra.Command, args []string) error {
			if peer != "" && len(args) == 2 {
				return errors.New("want KEY or --peer, not both")
			}
			if peer != "" {
				return cli.Takes("AGENT")(nil, args)
			}
			return cli.Takes("AGENT", "KEY")(nil, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckAgent(args[0]); err != nil {
				return err
			}
			if peer == "" {
				if _, err := client.SessionID(args[0], args[1]); err != nil {
					return cli.Usage("%w", err)
				}
			}
			if err := deletion.Check(); err != nil {
				return err
			}
			return a.withSessions(cmd.Context(), func(s *client.Sessions) error {
				keys, err := toDelete(cmd.Context(), s, args, peer)
				if err != nil {
					return err
				}
				if err := deletion.Confirm(cmd.Context(), len(keys), "session"); err != nil {
					return err
				}
				return a.deleteSessions(cmd.Context(), s, args[0], keys)
			})
		},
	}
	cmd.Flags().StringVar(&peer, "peer", "", "all direct sessions with the person of that `id`")
	deletion = a.Deletion(cmd)
	a.ConfigFlag(cmd)
	return cmd
}

// toDelete are the keys of what is to be deleted.
func toDelete(ctx context.Context, s *client.Sessions, args []string, peer string) ([]string, error) {
	if peer == "" {
		return args[1:], nil
	}
	return s.Of(ctx, args[0], peer)
}

func (a *app) deleteSessions(ctx context.Context, s *client.Sessions, agent string, keys []string) error {
	deleted := []client.Deletion{}
	for _, key := range keys {
		d, err := s.Delete(ctx, client.Removal{Agent: agent, Session: key})
		if errors.Is(err, client.ErrSessionRunning) {
			err = fmt.Errorf("delete %s: %w; stop it first: agenthost runs abort %s '%s'", key, err, agent, key)
		}
		if err != nil {
			return unknown(err, agent, key)
		}
		deleted = append(deleted, d)
	}
	if a.JSON {
		return a.PrintJSON(deleted)
	}
	for _, d := range deleted {
		fmt.Fprintf(a.Stdout, "deleted %s of %s: %s, %s\n", terminal.Printable(string(d.Key)), agent, cli.Count(d.Commits, "commit"), cli.Count(d.Objects, "object"))
	}
	if len(deleted) == 0 {
		fmt.Fprintln(a.Stdout, "no sessions")
	}
	return nil
}
