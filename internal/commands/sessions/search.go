package sessions

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
)

// A searching is the arguments of sessions search.
type searching struct {
	text  string
	agent string
	since cli.Age
	limit int
}

func (a *app) searchCommand() *cobra.Command {
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
	a.store.Register(cmd)
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
		t.Row(h.Agent, h.Key, cli.Time(h.At), h.Who, around(h.Text, s.text))
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
