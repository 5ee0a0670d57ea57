package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"agenthost/config"
	"agenthost/internal/control"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

// breakerWithin is what all hosts have to answer within.
const breakerWithin = 5 * time.Second

func (a *app) modelsCommand() *cobra.Command {
	return group(
		&cobra.Command{
			Use:   "models",
			Short: "List the models of the running hosts, take one out of service and back",
			Long: `Each host learns by its own calls which models fail or are rate limited, and
passes those over. Models shows what the hosts have learnt, and changes it.`,
			Example: `  agenthost models ls
  agenthost models trip main
  agenthost models reset main`,
		},
		a.modelsListCommand(), a.modelsTripCommand(), a.modelsResetCommand(),
	)
}

func (a *app) modelsListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "ls",
		Short: "List models, with breaker, park, rate and what was spent today",
		Long: `Ls has a line for each model on each host. An open breaker lets no call through
before its time; a parked model is not called after a rate limit. RATE is the
configured bound. SPENT TODAY is that of all hosts together, in a day of UTC; in
JSON it is in micro-cents.`,
		Example: `  agenthost models ls
  agenthost models ls -s nats://10.0.0.5:4222 --json`,
		Args: takes(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withHosts(cmd.Context(), func(_ context.Context, _ *nats.Conn, hosts fleet) error {
				return a.printModels(modelsOf(hosts, ""))
			})
		},
	}
	a.configFlag(cmd)
	return cmd
}

func (a *app) modelsTripCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trip MODEL",
		Short: "Take a model out of service on all hosts",
		Long: `Trip takes a model out of service, by its name in the configuration: calls pass it
over for the next model of their chain, until it is reset or its host starts
again. Calls under way go on.`,
		Example: `  agenthost models trip main`,
		Args:    takes("MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.setBreaker(cmd.Context(), args[0], "trip", "tripped")
		},
	}
	a.configFlag(cmd)
	return cmd
}

func (a *app) modelsResetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "reset MODEL",
		Short:   "Take a model back into service on all hosts",
		Long:    `Reset closes the breaker of a model on all hosts and ends its park.`,
		Example: `  agenthost models reset main`,
		Args:    takes("MODEL"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.setBreaker(cmd.Context(), args[0], "reset", "closed")
		},
	}
	a.configFlag(cmd)
	return cmd
}

// withHosts connects and calls do with the hosts that run, one at least.
func (a *app) withHosts(ctx context.Context, do func(context.Context, *nats.Conn, fleet) error) error {
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
	return do(ctx, nc, hosts)
}

// A hostModel is a model on a host.
type hostModel struct {
	Host string `json:"host"`
	control.ModelStatus
}

// modelsOf are the models of all hosts, or those with one name.
func modelsOf(hosts fleet, name string) []hostModel {
	list := []hostModel{}
	for _, h := range hosts {
		for _, m := range h.Models {
			if name == "" || m.Name == name {
				list = append(list, hostModel{h.Host, m})
			}
		}
	}
	slices.SortStableFunc(list, func(x, y hostModel) int { return strings.Compare(x.Name, y.Name) })
	return list
}

func (a *app) printModels(list []hostModel) error {
	switch {
	case a.json:
		return a.printJSON(list)
	case len(list) == 0:
		fmt.Fprintln(a.stdout, "no host has a model")
		return nil
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tMODEL\tBREAKER\tPARKED\tRATE\tIN FLIGHT\tWAITING\tSPENT TODAY\tHOST")
	for _, m := range list {
		say(w, "%s\t%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", m.Name, m.full(), m.breaker(), m.parked(), m.rate(),
			m.InFlight, m.Waiting, control.Money(m.SpentToday), m.Host)
	}
	return w.Flush()
}

func (m hostModel) full() string {
	if m.Model == "" {
		return m.Provider
	}
	return m.Provider + "/" + m.Model
}

func (m hostModel) breaker() string {
	if m.Breaker == "open" {
		return "open until " + m.Until.Local().Format(time.TimeOnly)
	}
	return string(m.Breaker)
}

func (m hostModel) parked() string {
	if m.Parked.IsZero() {
		return "-"
	}
	return "until " + m.Parked.Local().Format(time.TimeOnly)
}

func (m hostModel) rate() string {
	var bounds []string
	if m.Rate.Requests > 0 {
		bounds = append(bounds, fmt.Sprintf("%d/min", m.Rate.Requests))
	}
	if m.Rate.Concurrency > 0 {
		bounds = append(bounds, fmt.Sprintf("%d at once", m.Rate.Concurrency))
	}
	if len(bounds) == 0 {
		return "-"
	}
	return strings.Join(bounds, ", ")
}

// setBreaker sets the breaker of a model on all hosts that have it, and checks
// that it is as wanted.
func (a *app) setBreaker(ctx context.Context, name, action, want string) error {
	return a.withHosts(ctx, func(ctx context.Context, nc *nats.Conn, hosts fleet) error {
		had := modelsOf(hosts, name)
		if len(had) == 0 {
			return noSuchModel(name, hosts)
		}
		if err := orderBreaker(ctx, nc, name, action, len(hosts)); err != nil {
			return err
		}
		hosts, err := askEveryHost(ctx, nc)
		if err != nil {
			return err
		}
		now := modelsOf(hosts, name)
		if a.json {
			err = a.printJSON(now)
		} else {
			a.printBreakers(now)
		}
		return errors.Join(err, a.missed(had, now, want))
	})
}

// orderBreaker has all hosts set a breaker. How many have done so, their status
// tells: some may not have the model.
func orderBreaker(ctx context.Context, nc *nats.Conn, name, action string, hosts int) error {
	data, err := json.Marshal(map[string]string{"model": name, "action": action})
	if err != nil {
		return err
	}
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return fmt.Errorf("%s model %q: %w", action, name, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := nc.PublishRequest(control.BreakerSubject, sub.Subject, data); err != nil {
		return fmt.Errorf("%s model %q: %w", action, name, err)
	}
	within, cancel := context.WithTimeout(ctx, breakerWithin)
	defer cancel()
	for range hosts {
		if _, err := sub.NextMsgWithContext(within); err != nil {
			break
		}
	}
	return context.Cause(ctx)
}

func (a *app) printBreakers(list []hostModel) {
	for _, m := range list {
		say(a.stdout, "%s on %s: %s\n", m.Name, m.Host, m.breaker())
	}
}

// missed reports the hosts whose model is not as wanted.
func (a *app) missed(had, now []hostModel, want string) error {
	failed := false
	for _, m := range had {
		i := slices.IndexFunc(now, func(n hostModel) bool { return n.Host == m.Host })
		if i < 0 || string(now[i].Breaker) != want {
			a.warn("%s did not set the breaker of %s; run the command again", m.Host, m.Name)
			failed = true
		}
	}
	if failed {
		return errReported
	}
	return nil
}

func noSuchModel(name string, hosts fleet) error {
	var names []string
	for _, m := range modelsOf(hosts, "") {
		names = append(names, m.Name)
	}
	names = slices.Compact(names)
	if near := config.Nearest(name, names); near != "" {
		return fmt.Errorf("no model %q; did you mean %q?", name, near)
	}
	return fmt.Errorf("no model %q; there is %s", name, strings.Join(names, ", "))
}
