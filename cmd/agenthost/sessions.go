package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/internal/coldstore"
	"agenthost/internal/control"
	"agenthost/internal/eval"
	"agenthost/internal/terminal"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
)

func (a *app) sessionsCommand() *cobra.Command {
	return group(&cobra.Command{
		Use:   "sessions",
		Short: "List, read, search, delete, fork and replay sessions",
		Long: `A session is one agent's conversation with one person or group. KEY is its key,
such as web/dm/ana, or its name in subjects, 20 characters that ls shows with
--json; show, export, tail, fork and replay take the beginning of either for as
long as it means one session only. No host needs to run.`,
		Example: `  agenthost sessions ls
  agenthost sessions show assistant web/dm/ana
  agenthost sessions search bicycle
  agenthost sessions ls --store ./data`,
	},
		a.sessionsListCommand(), a.sessionsShowCommand(), a.sessionsSearchCommand(), a.sessionsTailCommand(), a.sessionsExportCommand(),
		a.sessionsDeleteCommand(), a.sessionsForkCommand(), a.sessionsReplayCommand(),
	)
}

// A shelf is where the sessions of a fleet are.
type shelf struct {
	*control.Archive
	nc *nats.Conn
}

// storeFlag gives cmd the flag --store.
func (a *app) storeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.store, "store", "", "read what the embedded server of a host has stored in that `folder`, while no host runs on it")
}

// withStored calls do with the sessions in the folder that --store names.
func (a *app) withStored(do func(*shelf) error) error {
	stop := a.working("reading " + a.store)
	s, err := coldstore.Open(a.store, bus.SessionsStream, "OBJ_"+bus.FilesBucket)
	stop()
	if err != nil {
		return err
	}
	err = do(&shelf{control.Sessions(s.JS), s.NC})
	return errors.Join(err, s.Close())
}

// withSessions calls do with the sessions of the fleet.
func (a *app) withSessions(ctx context.Context, do func(*shelf) error) error {
	if a.store != "" {
		return a.withStored(do)
	}
	nc, js, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer nc.Close()
	err = do(&shelf{control.Sessions(js), nc})
	if errors.Is(err, nats.ErrNoResponders) { // as reading a stream that there is not has it
		if _, missing := js.Stream(ctx, bus.SessionsStream); errors.Is(missing, jetstream.ErrStreamNotFound) {
			err = missing
		}
	}
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return fmt.Errorf("no stream %s: no host has run on this NATS yet", bus.SessionsStream)
	}
	return err
}

// unknown names a session that there is not as the command line does.
func unknown(err error, agent, key string) error {
	if errors.Is(err, control.ErrNoSession) {
		return fmt.Errorf("%s has no session %s; \"agenthost sessions ls\" shows those that there are", agent, printable(key))
	}
	return err
}

// oneSession is a command about one session, AGENT KEY.
func (a *app) oneSession(cmd *cobra.Command, do func(ctx context.Context, s *shelf, agent, sid string) error) *cobra.Command {
	cmd.Args = takes("AGENT", "KEY")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := checkAgent(args[0]); err != nil {
			return err
		}
		return a.withSessions(cmd.Context(), func(s *shelf) error {
			sid, err := s.find(cmd.Context(), args[0], args[1])
			if err != nil {
				return err
			}
			return unknown(do(cmd.Context(), s, args[0], sid), args[0], args[1])
		})
	}
	a.configFlag(cmd)
	return cmd
}

func sessionID(agent, key string) (sid string, err error) {
	if err := checkAgent(agent); err != nil {
		return "", err
	}
	if sid, err = control.SessionID(agent, key); err != nil {
		return "", usage("%w", err)
	}
	return sid, nil
}

// facts are the events of a session, all or those of a run.
func (s *shelf) facts(ctx context.Context, agent, sid, run string) iter.Seq2[control.Fact, error] {
	return func(yield func(control.Fact, error) bool) {
		found := run == ""
		for f, err := range s.History(ctx, agent, sid, 1) {
			if err == nil && run != "" && f.Of != run && f.Event.Run != run {
				continue
			}
			found = true
			if !yield(f, err) {
				return
			}
		}
		if !found {
			yield(control.Fact{}, fmt.Errorf("the session has no run %q; its export names them in the field of", run))
		}
	}
}

func (s *shelf) all(ctx context.Context, agent, sid, run string) ([]control.Fact, error) {
	list := []control.Fact{}
	for f, err := range s.facts(ctx, agent, sid, run) {
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

// printFact prints an event as a line of a timeline.
func (a *app) printFact(f control.Fact) {
	if line := eval.Line(f.Event); line != "" {
		at := f.Event.At.Local().Format(time.DateTime)
		line = strings.ReplaceAll(printable(line), "\n", "\n"+strings.Repeat(" ", len(at)+2))
		fmt.Fprintf(a.stdout, "%s  %s\n", a.screen().Paint(terminal.Dim, at), line)
	}
}
