package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/coldstore"
	"agenthost/internal/scrub"
	"agenthost/internal/terminal"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
)

func (a *app) scrubCommand() *cobra.Command {
	store := &cli.Store{}
	cmd := &cobra.Command{
		Use:   "scrub",
		Short: "Look for damage in what is stored",
		Long: `Scrub reads all that hosts have stored. Where streams have replicas it compares
the copies of all servers, message by message. Then it reads every session: each
commit has to follow the one it was written after, the log has to fold, and the
snapshot has to equal its fold. A session that has replied has to have a log,
unless it was deleted. It changes nothing, and hosts may run meanwhile:
only what is found three times counts. On a NATS with permissions it needs those
of the role cli; those of the role auditor are enough on a single server.

It exits with 1 when it found something.`,
		Example: `  agenthost scrub
  agenthost scrub -s nats://10.0.0.5:4222 --json
  agenthost scrub --store ./data`,
		Args: cli.Takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.scrub(cmd.Context(), store.Folder) },
	}
	store.Register(cmd)
	a.ConfigFlag(cmd)
	return cmd
}

func (a *app) scrub(ctx context.Context, store string) error {
	if store == "" {
		return a.WithClient(ctx, func(c *client.Client) error { return a.scrubStreams(ctx, c.JetStream()) })
	}
	s, err := coldstore.Open(store, bus.SessionsStream, "OBJ_"+bus.FilesBucket, bus.OutboundStream, "KV_"+bus.RequestsBucket)
	if err != nil {
		return err
	}
	err = a.scrubStreams(ctx, s.JS)
	return errors.Join(err, s.Close())
}

func (a *app) scrubStreams(ctx context.Context, js jetstream.JetStream) error {
	progress, clear := a.scrubProgress()
	r, err := scrub.Run(ctx, js, scrub.Options{Progress: progress})
	clear()
	if err != nil {
		return err
	}
	if a.JSON {
		err = a.PrintJSON(r)
	} else {
		err = a.printScrub(r)
	}
	if err == nil && !r.Clean() {
		err = cli.ErrReported
	}
	return err
}

func (a *app) printScrub(r scrub.Report) error {
	t := a.Table("STREAM", "MESSAGES", "COPIES", "COMPARED")
	for _, s := range r.Streams {
		t.Row(s.Name, s.Messages, s.Replicas, cmp.Or(strings.Join(s.Servers, ", "), "no"))
	}
	if err := t.Write(a.Stdout); err != nil {
		return err
	}
	fmt.Fprintf(a.Stdout, "\n%s, %s, %s beside the folds\n", cli.Count(r.Sessions, "session"), cli.Count(r.Commits, "commit"), cli.Count(r.Snapshots, "snapshot"))
	if r.Clean() {
		fmt.Fprintln(a.Stdout, "nothing found")
		return nil
	}
	printFindings(a.Stdout, r)
	return nil
}

// printFindings prints what was found below the stream, or the session, it is in.
func printFindings(w io.Writer, r scrub.Report) {
	where := ""
	for _, f := range r.Findings {
		at := f.Stream
		if f.Agent != "" {
			at = "session " + f.Agent + " " + f.SID
		}
		if at != where {
			fmt.Fprintf(w, "\n%s\n", terminal.Printable(at))
			where = at
		}
		fmt.Fprintf(w, "  %s: %s\n", f.Kind, terminal.Printable(f.Text))
	}
	fmt.Fprintf(w, "\n%s; docs/reliability.md says what to do\n", cli.Count(len(r.Findings)+r.More, "finding"))
}

// scrubProgress shows on a terminal how far a scrub is; clear takes that away.
func (a *app) scrubProgress() (progress func(scrub.Progress), clear func()) {
	if !cli.IsTerminal(a.Stderr) {
		return nil, func() {}
	}
	return func(p scrub.Progress) {
		fmt.Fprintf(a.Stderr, "%s%s: %d of %d …", terminal.ClearLine, p.What, p.Done, p.All)
	}, func() { fmt.Fprint(a.Stderr, terminal.ClearLine) }
}
