package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/coldstore"
	"agenthost/internal/eval"
	"agenthost/internal/terminal"
)

func (a *app) sessionsListCommand() *cobra.Command {
	p, l := client.SessionPage{}, &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:   "ls [AGENT]",
		Short: "List sessions, the last written first",
		Example: `  agenthost sessions ls
  agenthost sessions ls assistant --limit 20 --after 8841 --json
  agenthost sessions ls --since 2h --watch
  agenthost sessions ls --store ./data`,
		Args: cli.Takes("[AGENT]"),
	}
	l.Register(a.App, cmd, func(ctx context.Context) error {
		if p.Limit < 1 || p.Limit > 1000 {
			return cli.Usage("--limit %d: want 1 to 1000", p.Limit)
		}
		p.Agent, p.Since = l.Agent, l.Since.From(time.Now())
		return a.withSessions(ctx, func(s *client.Sessions) error { return a.listSessions(ctx, s, p) })
	})
	a.storeFlag(cmd)
	cmd.Flags().IntVar(&p.Limit, "limit", 50, "how many to list")
	cmd.Flags().Uint64Var(&p.Before, "after", 0, "continue after the page that ended with this `number`")
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) listSessions(ctx context.Context, s *client.Sessions, p client.SessionPage) error {
	list, err := s.List(ctx, p)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(list)
	case len(list.Sessions) == 0:
		fmt.Fprintln(a.Stdout, "no sessions")
		return nil
	}
	t := a.Table("AGENT", "KEY", "LAST", "MESSAGES", "SPENT", "STATE", "TITLE")
	for _, one := range list.Sessions {
		state := one.State
		switch {
		case one.State == client.OperatorSession:
			state = "taken over by " + cmp.Or(strings.Join(one.For, ", "), "an operator")
		case len(one.For) > 0:
			state += " for " + strings.Join(one.For, ", ")
		}
		title := one.Title
		if one.Fault != "" {
			state, title = "unreadable", one.Fault
		}
		t.Row(one.Agent, one.Key, one.At.Local().Format(time.DateTime), one.Messages, client.Money(one.Spent), cli.Stated(state), title)
	}
	if err := t.Write(a.Stdout); err != nil {
		return err
	}
	if list.After > 0 {
		a.Warn("more results: run again with --after %d", list.After)
	}
	return nil
}

// A searching is the arguments of sessions search.
type searching struct {
	text  string
	agent string
	since cli.Age
	limit int
}

func (a *app) sessionsSearchCommand() *cobra.Command {
	s := searching{}
	cmd := &cobra.Command{
		Use:   "search TEXT",
		Short: "Search what was said in sessions",
		Long: `Search looks for TEXT, in any case of letters, in what people and agents have said,
in results of tools, questions and summaries, and prints the newest places last. It
reads all logs that are kept: with millions of events it takes its time.`,
		Example: `  agenthost sessions search bicycle
  agenthost sessions search 'order 4711' --agent assistant --since 2d
  agenthost sessions search bicycle --store ./data --json`,
		Args: cli.Takes("TEXT"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s.text = strings.TrimSpace(args[0])
			if s.limit < 1 {
				return cli.Usage("--limit %d: want 1 or more", s.limit)
			}
			if s.agent != "" {
				if err := cli.CheckAgent(s.agent); err != nil {
					return err
				}
			}
			return a.withSessions(cmd.Context(), func(all *client.Sessions) error { return a.search(cmd.Context(), all, s) })
		},
	}
	cmd.Flags().StringVar(&s.agent, "agent", "", "only for the agent with this `id`")
	cmd.Flags().Var(&s.since, "since", "only what is newer: a duration such as 90m or 2d, or a date")
	cmd.Flags().IntVar(&s.limit, "limit", 50, "how many places to print, the newest")
	a.storeFlag(cmd)
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) search(ctx context.Context, sessions *client.Sessions, s searching) error {
	hits, all, err := a.hits(ctx, sessions, s)
	switch {
	case err != nil:
		return err
	case a.JSON:
		return a.PrintJSON(hits)
	case len(hits) == 0:
		fmt.Fprintf(a.Stdout, "nothing with %q\n", terminal.Printable(s.text))
		return nil
	}
	t := a.Table("AGENT", "KEY", "AT", "WHO", "TEXT")
	for _, h := range hits {
		t.Row(h.Agent, h.Key, h.At.Local().Format(time.DateTime), h.Who, around(h.Text, s.text))
	}
	if err := t.Write(a.Stdout); err != nil {
		return err
	}
	if all > len(hits) {
		a.Warn("these are the newest of %d places; --limit %d shows all", all, all)
	}
	return nil
}

// hits are the newest places with the text, and how many there are.
func (a *app) hits(ctx context.Context, sessions *client.Sessions, s searching) (hits []client.SessionHit, all int, err error) {
	defer a.Working("searching")()
	hits = []client.SessionHit{}
	for h, err := range sessions.Search(ctx, client.SessionSearch{Text: s.text, Agent: s.agent, Since: s.since.From(time.Now())}) {
		if err != nil {
			return nil, 0, err
		}
		all++
		if hits = append(hits, h); len(hits) >= 2*s.limit {
			hits = append(hits[:0], hits[len(hits)-s.limit:]...)
		}
	}
	return hits[max(len(hits)-s.limit, 0):], all, nil
}

// What is shown of a text around the place that was found.
const (
	beforeHit = 30
	hitShown  = 120
)

// around is a text on one line, from a little before the place that was found.
func around(text, found string) string {
	line := []rune(cli.OneLine(text))
	at := strings.Index(strings.ToLower(string(line)), strings.ToLower(cli.OneLine(found)))
	from := 0
	if at > 0 {
		from = max(len([]rune(strings.ToLower(string(line))[:at]))-beforeHit, 0)
	}
	from = min(from, len(line))
	lead := ""
	if from > 0 {
		lead = "…"
	}
	return lead + terminal.Cut(string(line[from:]), hitShown)
}

func (a *app) sessionsCommand() *cobra.Command {
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
		a.sessionsListCommand(), a.sessionsShowCommand(), a.sessionsSearchCommand(), a.sessionsTailCommand(), a.sessionsExportCommand(),
		a.sessionsTakeOverCommand(), a.sessionsSayCommand(), a.sessionsHandBackCommand(),
		a.sessionsDeleteCommand(), a.sessionsForkCommand(), a.sessionsReplayCommand(),
	)
}

// storeFlag gives cmd the flag --store.
func (a *app) storeFlag(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.store, "store", "", "read the data `folder` of a stopped host instead of asking NATS")
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if a.store == "" {
			return nil
		}
		return notWithStore(cmd, "server", "context")
	}
}

// withStored calls do with the sessions in the folder that --store names.
func (a *app) withStored(do func(*client.Sessions) error) error {
	stop := a.Working("reading " + a.store)
	s, err := coldstore.Open(a.store, bus.SessionsStream, "OBJ_"+bus.FilesBucket)
	stop()
	if err != nil {
		return err
	}
	err = do(client.New(s.NC, s.JS, client.Options{}).Sessions())
	return errors.Join(err, s.Close())
}

// withSessions calls do with the sessions of the fleet.
func (a *app) withSessions(ctx context.Context, do func(*client.Sessions) error) error {
	if a.store != "" {
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
