// Package sessions has the commands about sessions: flags and printing over package client.
package sessions

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/coldstore"
	"agenthost/internal/eval"
	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
)

// An app is one call of the program.
type app struct {
	*cli.App
	store cli.Store
}

// Command is the group of them.
func Command(call *cli.App) *cobra.Command {
	a := &app{App: call}
	return cli.Group(&cobra.Command{
		Use:   "sessions",
		Short: "List, read, take over, delete, fork and replay sessions",
		Long: `A session is one agent's conversation with one person or group. KEY is its key,
such as web/dm/ana, or its name in subjects, 20 characters that ls shows with
--json. show, export, tail, fork and replay accept the beginning of either if it
is unique. No host needs to run.`,
		Example: `  agenthost sessions ls
  agenthost sessions show assistant web/dm/ana
  agenthost sessions search bicycle
  agenthost sessions ls --store ./data`,
	},
		a.listCommand(), a.showCommand(), a.searchCommand(), a.tailCommand(), a.exportCommand(),
		a.takeOverCommand(), a.sayCommand(), a.handBackCommand(),
		a.deleteCommand(), a.forkCommand(), a.replayCommand(),
	)
}

// withStored calls do with the sessions in the folder that --store names.
func (a *app) withStored(do func(*client.Sessions) error) error {
	stop := a.Working("reading " + a.store.Folder)
	s, err := coldstore.Open(a.store.Folder, bus.SessionsStream, "OBJ_"+bus.FilesBucket)
	stop()
	if err != nil {
		return err
	}
	err = do(client.New(s.NC, s.JS, client.Options{}).Sessions())
	return errors.Join(err, s.Close())
}

// withSessions calls do with the sessions of the fleet.
func (a *app) withSessions(ctx context.Context, do func(*client.Sessions) error) error {
	if a.store.Folder != "" {
		return a.withStored(do)
	}
	return a.WithClient(ctx, func(c *client.Client) error { return do(c.Sessions()) })
}

// unknown names a session that there is not as the command line does.
func unknown(err error, agent, key string) error {
	if errors.Is(err, client.ErrNoSession) {
		return fmt.Errorf("%s has no session %s; \"agenthost sessions ls\" lists the sessions", agent, terminal.Printable(key))
	}
	return err
}

// oneSession is a command about one session, AGENT KEY.
func (a *app) oneSession(cmd *cobra.Command, do func(ctx context.Context, s *client.Sessions, agent, sid string) error) *cobra.Command {
	cmd.Args = cli.Takes("AGENT", "KEY")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := cli.CheckAgent(args[0]); err != nil {
			return err
		}
		return a.withSessions(cmd.Context(), func(s *client.Sessions) error {
			sid, err := s.Find(cmd.Context(), args[0], args[1])
			if err != nil {
				return unknown(err, args[0], args[1])
			}
			return unknown(do(cmd.Context(), s, args[0], sid), args[0], args[1])
		})
	}
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) allEvents(ctx context.Context, s *client.Sessions, agent, sid, run string) ([]client.Fact, error) {
	list := []client.Fact{}
	for f, err := range s.Events(ctx, agent, sid, run) {
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// printFact prints an event as lines of a timeline.
func (a *app) printFact(f client.Fact) {
	for _, row := range eval.Lines(f.Event) {
		at := row.At.Local().Format(time.DateTime)
		line := strings.ReplaceAll(terminal.Printable(row.Text), "\n", "\n"+strings.Repeat(" ", len(at)+2))
		fmt.Fprintf(a.Stdout, "%s  %s\n", a.Screen().Paint(terminal.Dim, at), line)
	}
}
