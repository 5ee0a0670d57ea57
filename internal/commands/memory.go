package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"
)

func (a *app) memoryCommand() *cobra.Command {
	return cli.Group(
		&cobra.Command{
			Use:   "memory",
			Short: "List, export and delete what agents remember",
			Long: `Agents keep notes with the tool remember: about a person, or for all their chats.
--peer names a person by the key of their session, such as web/dm/7, and selects
the notes about them and those made in that chat.`,
			Example: `  agenthost memory ls --agent assistant
  agenthost memory export --peer web/dm/7`,
		},
		a.memoryListCommand(), a.memoryExportCommand(), a.memoryDeleteCommand(),
	)
}

// A remembered is which notes a command is about.
type remembered struct{ agent, peer string }

func (r *remembered) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.agent, "agent", "", "only for the agent with this `id`")
	r.registerPeer(cmd)
}

func (r *remembered) registerPeer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.peer, "peer", "", "only what belongs to the person with that session `key`")
}

// of lists the notes, the oldest first.
func (r *remembered) of(ctx context.Context, c *client.Client) ([]client.Note, error) {
	if r.agent != "" {
		if err := cli.CheckAgent(r.agent); err != nil {
			return nil, err
		}
	}
	list, err := c.Notes(ctx, r.agent, r.peer)
	return append([]client.Note{}, list...), err
}

func (a *app) memoryListCommand() *cobra.Command {
	which, l := &remembered{}, &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the notes",
		Example: `  agenthost memory ls
  agenthost memory ls --agent assistant --json`,
		Args: cli.Takes(),
	}
	l.Register(a.App, cmd, func(ctx context.Context) error {
		return a.WithClient(ctx, func(c *client.Client) error {
			which.agent = l.Agent
			list, err := which.of(ctx, c)
			if err != nil {
				return err
			}
			return a.listNotes(ctx, l, slices.DeleteFunc(list, func(n client.Note) bool { return !l.Keeps(n.Agent, n.At) }))
		})
	})
	which.registerPeer(cmd)
	a.ConfigFlag(cmd)
	return cmd
}

// noteColumns is how much of a note its line shows.
const noteColumns = 80

func (a *app) listNotes(ctx context.Context, l *cli.ListFlags, list []client.Note) error {
	switch {
	case a.JSON:
		return a.PrintJSON(list)
	case len(list) == 0:
		return l.None(ctx, a.App, "nothing is remembered")
	}
	t := a.Table("ID", "AGENT", "ABOUT", "SINCE", "USED", "TEXT")
	for _, n := range list {
		t.Row(n.ID, n.Agent, cmp.Or(n.Peer, "agent"), cli.Time(n.At), n.Used, terminal.Cut(cli.OneLine(n.Text), noteColumns))
	}
	return t.Write(a.Stdout)
}

func (a *app) memoryExportCommand() *cobra.Command {
	which := &remembered{}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Print complete notes as JSON",
		Example: `  agenthost memory export --peer web/dm/7
  agenthost memory export --agent assistant`,
		Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithClient(cmd.Context(), func(c *client.Client) error {
				list, err := which.of(cmd.Context(), c)
				if err != nil {
					return err
				}
				return a.PrintJSON(list)
			})
		},
	}
	which.register(cmd)
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) memoryDeleteCommand() *cobra.Command {
	which := &remembered{}
	var deletion *cli.Deletion
	cmd := &cobra.Command{
		Use:   "delete [ID...]",
		Short: "Delete notes for good",
		Long: `Delete deletes notes for good: those named, or all that belong to --agent,
to --peer or to both. It asks for confirmation; without a terminal it needs --force.
What was said in the chat stays in the session's log.`,
		Example: `  agenthost memory delete k3v5y2mmp4ra
  agenthost memory delete --peer web/dm/7 --force`,
		RunE: func(cmd *cobra.Command, ids []string) error {
			if len(ids) == 0 && which.agent == "" && which.peer == "" {
				return cli.Usage("say what to delete: ids of notes, --agent, --peer or both")
			}
			if err := deletion.Check(); err != nil {
				return err
			}
			return a.WithClient(cmd.Context(), func(c *client.Client) error {
				list, err := which.of(cmd.Context(), c)
				if err == nil {
					list, err = withIDs(list, ids)
				}
				if err != nil {
					return err
				}
				if err := deletion.Confirm(cmd.Context(), len(list), "note"); err != nil {
					return err
				}
				for _, n := range list { // just what was listed: what was kept since stays
					if err := c.DeleteNote(cmd.Context(), n); err != nil {
						return err
					}
				}
				return deletion.Report(len(list), "note")
			})
		},
	}
	which.register(cmd)
	deletion = a.Deletion(cmd)
	deletion.Alias(cmd, "yes")
	a.ConfigFlag(cmd)
	return cmd
}

// withIDs are the notes with these ids, which may be shortened; without ids all of them. An id that no
// note has is an error: nothing is deleted by mistake.
func withIDs(list []client.Note, short []string) ([]client.Note, error) {
	var known, ids []string
	for _, n := range list {
		known = append(known, n.ID)
	}
	for _, id := range short {
		whole, err := client.Resolve("note", id, known)
		if err != nil {
			return nil, err
		}
		if whole == "" {
			return nil, fmt.Errorf("no note %q", id)
		}
		ids = append(ids, whole)
	}
	if len(ids) == 0 {
		return list, nil
	}
	return slices.DeleteFunc(list, func(n client.Note) bool { return !slices.Contains(ids, n.ID) }), nil
}
