package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/internal/control"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// reloadWithin is what all hosts have to answer within.
const reloadWithin = 35 * time.Second

func (a *app) reloadCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reload",
		Short: "Reload the configuration on all hosts",
		Long: `Reload has every running host read its configuration again, and tells what has
changed. A host that finds a mistake changes nothing and tells where it is; then
the command exits with 1. Sessions go on: their next turn goes by what is new.
Changes under nats and http take effect after a restart.

A host also reads its files again when they change, and on SIGHUP.`,
		Example: `  agenthost reload
  agenthost reload -s nats://10.0.0.5:4222 --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error { return a.reload(cmd.Context()) },
	}
	a.configFlag(cmd)
	return cmd
}

func (a *app) reload(ctx context.Context) error {
	nc, _, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer nc.Close()
	hosts, err := askEveryHost(ctx, nc)
	switch {
	case err != nil:
		return err
	case len(hosts) == 0:
		return errors.New(`no host answers; start one with "agenthost run"`)
	}
	stop := a.working("reloading " + count(len(hosts), "host"))
	answers, err := reloadHosts(ctx, nc, hosts)
	stop()
	if err != nil {
		return err
	}
	if a.json {
		err = a.printJSON(answers)
	} else {
		a.printReloaded(answers)
	}
	if err == nil && slices.ContainsFunc(answers, failed) {
		return errReported
	}
	return err
}

// reloadHosts has hosts reload. One that does not answer in time is among the
// answers, with an error.
func reloadHosts(ctx context.Context, nc *nats.Conn, hosts fleet) ([]control.Reloaded, error) {
	ctx, cancel := context.WithTimeout(ctx, reloadWithin)
	defer cancel()
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return nil, fmt.Errorf("ask hosts: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := nc.PublishRequest(control.ReloadSubject, sub.Subject, nil); err != nil {
		return nil, fmt.Errorf("ask hosts: %w", err)
	}
	missing := map[string]bool{}
	for _, h := range hosts {
		missing[h.Host] = true
	}
	var answers []control.Reloaded
	for len(missing) > 0 {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			break // those that are missing tell it
		}
		r, err := control.ReadReloaded(msg.Data)
		if err != nil {
			return nil, fmt.Errorf("read the answer of a host: %w", err)
		}
		delete(missing, r.Host)
		answers = append(answers, r)
	}
	for name := range missing {
		answers = append(answers, control.Reloaded{Host: name, Changes: []string{}, Error: "no answer; it may be of another version"})
	}
	slices.SortFunc(answers, func(a, b control.Reloaded) int { return strings.Compare(a.Host, b.Host) })
	return answers, nil
}

func failed(r control.Reloaded) bool { return r.Error != "" || len(r.Refused) > 0 }

func (a *app) printReloaded(answers []control.Reloaded) {
	for _, r := range answers {
		for _, p := range r.Refused {
			a.warn("%s refused: %s", r.Host, printable(p.String()))
		}
		if r.Error != "" {
			a.warn("%s: %s", r.Host, printable(r.Error))
		}
		if len(r.Restart) > 0 {
			a.warn("%s needs a restart for %s", r.Host, strings.Join(r.Restart, ", "))
		}
		switch {
		case len(r.Changes) > 0:
			say(a.stdout, "%s: %s\n", r.Host, strings.Join(r.Changes, ", "))
		case !failed(r):
			say(a.stdout, "%s: nothing has changed\n", r.Host)
		}
	}
}
