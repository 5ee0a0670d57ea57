package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/internal/control"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/spf13/cobra"
)

func (a *app) approvalsCommand() *cobra.Command {
	return group(
		&cobra.Command{
			Use:   "approvals",
			Short: "List and answer what agents ask people",
			Long: `Agents ask people before they use a tool that may change something, and when
they have a question. What is asked waits, also while no host runs, and is
answered in the chat, with this command or by any program. The first answer
counts.`,
			Example: `  agenthost approvals ls
  agenthost approvals show ana.4j2k….q7xn…
  agenthost approvals answer ana.4j2k….q7xn… approve --scope session
  agenthost approvals allowed`,
		},
		a.approvalsListCommand(), a.approvalsShowCommand(), a.approvalsAnswerCommand(), a.approvalsAllowedCommand(), a.approvalsRevokeCommand(),
	)
}

// A listing is which of what waits is listed.
type listing struct {
	listFlags
	all bool
}

func (a *app) approvalsListCommand() *cobra.Command {
	l := &listing{}
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List the open approvals and questions",
		Example: `  agenthost approvals ls
  agenthost approvals ls --agent assistant --json
  agenthost approvals ls --since 1h --watch`,
		Args: takes(),
	}
	l.register(a, cmd, func(ctx context.Context) error {
		return a.withBuckets(ctx, func(ctx context.Context, js jetstream.JetStream) error { return a.listWaiting(ctx, js, l) })
	})
	cmd.Flags().BoolVar(&l.all, "all", false, "also what waits for another agent")
	a.configFlag(cmd)
	return cmd
}

func (a *app) listWaiting(ctx context.Context, js jetstream.JetStream, l *listing) error {
	list, err := control.AllWaiting(ctx, js)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(w control.Waiting) bool {
		return !l.keeps(w.Agent, w.AskedAt) || !l.all && w.Kind == control.ForDelegate
	})
	switch {
	case a.json:
		return a.printJSON(append([]control.Waiting{}, list...))
	case len(list) == 0:
		fmt.Fprintln(a.stdout, "no pending approvals or questions")
		return nil
	}
	t := a.table("ID", "AGENT", "KIND", "SINCE", "PROMPT")
	for _, one := range list {
		t.Row(one.ID, one.Agent, one.Kind, one.AskedAt.Local().Format(time.DateTime), prompt(one))
	}
	return t.Write(a.stdout)
}

// prompt is what is asked, in a line.
func prompt(w control.Waiting) string {
	text := onOneLine(w.Prompt)
	if w.Kind == control.ForQuestion && len(w.Options) > 0 {
		text += " (" + printable(strings.Join(w.Options, ", ")) + ")"
	}
	if w.Kind == control.ForDelegate {
		text = "to " + w.To + ": " + text
	}
	return text
}

func onOneLine(text string) string { return strings.Join(strings.Fields(printable(text)), " ") }

// withBuckets calls do with the buckets of the fleet, for a short while.
func (a *app) withBuckets(ctx context.Context, do func(context.Context, jetstream.JetStream) error) error {
	nc, js, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(ctx, dialWithin)
	defer cancel()
	return hintBucket(do(ctx, js))
}

// hintBucket says what a missing bucket means.
func hintBucket(err error) error {
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return fmt.Errorf("%w: no host has run on this NATS yet", err)
	}
	return err
}
