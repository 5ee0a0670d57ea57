package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agenthost/internal/control"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
)

func (a *app) approvalsShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show all of an open approval or question",
		Long: `Show prints what waits under an id that ls lists, a call of a tool with all its
arguments. No host needs to run.`,
		Example: `  agenthost approvals show ana.4j2k….q7xn…
  agenthost approvals show ana.4j2k….q7xn… --json`,
		Args: takes("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBuckets(cmd.Context(), func(ctx context.Context, js jetstream.JetStream) error {
				return a.showWaiting(ctx, js, args[0])
			})
		},
	}
	a.configFlag(cmd)
	return cmd
}

func (a *app) showWaiting(ctx context.Context, js jetstream.JetStream, id string) error {
	w, err := findWaiting(ctx, js, id)
	if err != nil {
		return err
	}
	call, err := control.WholeCall(ctx, js, w)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			control.Waiting
			Whole string `json:"whole"`
		}{w, call})
	}
	fmt.Fprintf(a.stdout, "%s of %s, in %s, since %s\n\n%s\n", w.Kind, w.Agent, printable(w.Session), w.AskedAt.Local().Format(time.DateTime), printable(call))
	if w.Kind == control.ForQuestion && len(w.Options) > 0 {
		fmt.Fprintln(a.stdout, printable(strings.Join(w.Options, ", ")))
	}
	return nil
}
