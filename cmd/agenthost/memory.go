package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/internal/control"
	"agenthost/internal/terminal"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
)

func (a *app) memoryCommand() *cobra.Command {
	return group(
		&cobra.Command{
			Use:   "memory",
			Short: "List, export and delete what agents remember",
			Long: `Agents keep notes with the tool remember: about a person, or for all their
chats. What belongs to a person is named by the key of their chat, such as
web/dm/7: the notes about them, and those made in their chat.`,
			Example: `  agenthost memory ls --agent assistant
  agenthost memory export --peer web/dm/7`,
		},
		a.memoryListCommand(), a.memoryExportCommand(), a.memoryDeleteCommand(),
	)
}

// A remembered is which notes a command is about.
type remembered struct{ agent, peer string }

func (r *remembered) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.agent, "agent", "", "only of the agent with that `id`")
	r.registerPeer(cmd)
}

func (r *remembered) registerPeer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&r.peer, "peer", "", "only what belongs to the person with that session `key`")
}

// of lists the notes, the oldest first.
func (r *remembered) of(ctx context.Context, js jetstream.JetStream) ([]control.Note, error) {
	if r.agent != "" {
		if err := checkAgent(r.agent); err != nil {
			return nil, err
		}
	}
	list, err := control.AllNotes(ctx, js, r.agent, r.peer)
	return append([]control.Note{}, list...), err
}

// withMemory calls do with the notes of the fleet.
func (a *app) withMemory(ctx context.Context, do func(jetstream.JetStream) error) error {
	nc, js, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer nc.Close()
	return hintBucket(do(js))
}

func (a *app) memoryListCommand() *cobra.Command {
	which, l := &remembered{}, &listFlags{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the notes",
		Example: `  agenthost memory ls
  agenthost memory ls --agent assistant --json`,
		Args: takes(),
	}
	l.register(a, cmd, func(ctx context.Context) error {
		return a.withMemory(ctx, func(js jetstream.JetStream) error {
			which.agent = l.agent
			list, err := which.of(ctx, js)
			if err != nil {
				return err
			}
			return a.listNotes(slices.DeleteFunc(list, func(n control.Note) bool { return !l.keeps(n.Agent, n.At) }))
		})
	})
	which.registerPeer(cmd)
	a.configFlag(cmd)
	return cmd
}

// noteColumns is how much of a note its line shows.
const noteColumns = 80

func (a *app) listNotes(list []control.Note) error {
	switch {
	case a.json:
		return a.printJSON(list)
	case len(list) == 0:
		fmt.Fprintln(a.stdout, "nothing is remembered")
		return nil
	}
	t := a.table("ID", "AGENT", "ABOUT", "SINCE", "USED", "TEXT")
	for _, n := range list {
		t.Row(n.ID, n.Agent, cmp.Or(n.Peer, "agent"), n.At.Local().Format(time.DateTime), n.Used, terminal.Cut(onOneLine(n.Text), noteColumns))
	}
	return t.Write(a.stdout)
}

func (a *app) memoryExportCommand() *cobra.Command {
	which := &remembered{}
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write whole notes as JSON",
		Example: `  agenthost memory export --peer web/dm/7
  agenthost memory export --agent assistant`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withMemory(cmd.Context(), func(js jetstream.JetStream) error {
				list, err := which.of(cmd.Context(), js)
				if err != nil {
					return err
				}
				return a.printJSON(list)
			})
		},
	}
	which.register(cmd)
	a.configFlag(cmd)
	return cmd
}

func (a *app) memoryDeleteCommand() *cobra.Command {
	which := &remembered{}
	var force bool
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
				return usage("say what to delete: ids of notes, --agent, --peer or both")
			}
			if !force && !isTerminal(a.stdin) {
				return usage("not a terminal: use --force to delete without confirmation")
			}
			return a.withMemory(cmd.Context(), func(js jetstream.JetStream) error {
				list, err := which.of(cmd.Context(), js)
				if err == nil {
					list, err = withIDs(list, ids)
				}
				if err != nil {
					return err
				}
				if len(list) > 0 && !force && !a.confirm("delete "+count(len(list), "note")+" for good?") {
					return errors.New("nothing was deleted")
				}
				return a.deleteNotes(cmd.Context(), js, list)
			})
		},
	}
	which.register(cmd)
	cmd.Flags().BoolVar(&force, "force", false, "do not ask")
	cmd.Flags().BoolVar(&force, "yes", false, "do not ask")
	_ = cmd.Flags().MarkDeprecated("yes", "it is --force now") // the flag is there
	a.configFlag(cmd)
	return cmd
}

// withIDs are the notes with these ids, which may be shortened; without ids all of them. An id that no
// note has is an error: nothing is deleted by mistake.
func withIDs(list []control.Note, short []string) ([]control.Note, error) {
	var known, ids []string
	for _, n := range list {
		known = append(known, n.ID)
	}
	for _, id := range short {
		whole, err := resolve("note", id, known)
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
	return slices.DeleteFunc(list, func(n control.Note) bool { return !slices.Contains(ids, n.ID) }), nil
}

// deleteNotes deletes just what was listed: what was kept since stays.
func (a *app) deleteNotes(ctx context.Context, js jetstream.JetStream, list []control.Note) error {
	for _, n := range list {
		if err := control.DeleteNote(ctx, js, n); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(map[string]int{"deleted": len(list)})
	}
	fmt.Fprintf(a.stdout, "deleted %s\n", count(len(list), "note"))
	return nil
}
