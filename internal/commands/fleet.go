package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/client"
	"agenthost/internal/cli"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

func (a *app) fleetCommand() *cobra.Command {
	l := &cli.ListFlags{}
	cmd := &cobra.Command{
		Use:        "fleet",
		SuggestFor: []string{"status", "ps", "hosts", "nodes"},
		Short:      "List the hosts of the fleet, and what each serves",
		Long: `Fleet lists the hosts that run, one line for each. Agents share lanes, and the
lanes spread over the hosts by their weights (agenthost run --weight): LANES are
those of a host now, SHARE is what it has once the fleet is even, within 40
seconds of a host coming or going. RUNNING and QUEUED are the runs in progress and
the messages that wait. VERSION has the commit of the build behind it, where that
is known. A host that is draining takes nothing new and ends. Below are the lanes
that have agents, each with its host, since when, and its lag (the messages that
are not done), or in parentheses with the host that will serve it, while it has
brought no message yet; and the accounts of channels with their owners.`,
		Example: `  agenthost fleet
  agenthost fleet --watch
  agenthost fleet --json`,
	}
	l.Register(a.App, cmd, func(ctx context.Context) error { return a.listHosts(ctx) })
	cmd.Args = cli.Takes()
	for _, flag := range []string{"since", "agent"} { // hosts have neither
		_ = cmd.Flags().MarkHidden(flag)
	}
	a.ConfigFlag(cmd)
	return cmd
}

// A fleetHost is a host as the command prints it.
type fleetHost struct {
	Host     string `json:"host"`
	State    string `json:"state"`
	Weight   int    `json:"weight"`
	Lanes    []int  `json:"lanes"`
	Share    int    `json:"share"`
	Agents   int    `json:"agents"`
	Sessions int    `json:"sessions"`
	Running  int    `json:"running"`
	Queued   int64  `json:"queued"`
	Version  string `json:"version"`
	Started  string `json:"started"`
	// Serves are the lanes that have brought it messages, Accounts those that it owns.
	Serves     []client.LaneStatus      `json:"serves"`
	Partitions []client.PartitionStatus `json:"partitions"`
	Accounts   []fleetAccount           `json:"accounts"`
}

// A fleetAccount is an account of a channel.
type fleetAccount struct {
	Account string    `json:"account"`
	State   string    `json:"state"`
	Since   time.Time `json:"since,omitzero"` // it is connected
}

func (a *app) listHosts(ctx context.Context) error {
	c, err := a.Connect(ctx)
	if err != nil {
		return err
	}
	defer c.Close()
	hosts, err := c.EveryHost(ctx)
	if err != nil {
		return err
	}
	pauses, err := c.Pauses(ctx)
	if err != nil {
		return err
	}
	accounts, err := c.Channels(ctx)
	switch {
	case errors.Is(err, nats.ErrPermissionViolation):
		a.Warn("the accounts of channels are not shown: %v", err)
	case err != nil && !errors.Is(err, client.ErrNoHost):
		return err
	}
	list := fleetHosts(hosts, pauses, accounts)
	if a.JSON {
		return a.PrintJSON(list)
	}
	return errors.Join(a.printHosts(list), a.printLanes(list), a.printPartitions(list), a.printAccounts(list))
}

func (a *app) printHosts(list []fleetHost) error {
	t := a.Table("HOST", "STATE", "WEIGHT", "LANES", "SHARE", "AGENTS", "SESSIONS", "RUNNING", "QUEUED", "VERSION")
	for _, h := range list {
		t.Row(h.Host, cli.Stated(h.State), h.Weight, len(h.Lanes), h.Share, h.Agents, h.Sessions, h.Running, fmt.Sprint(h.Queued), h.Version)
	}
	return t.Write(a.Stdout)
}

func (a *app) printLanes(list []fleetHost) error {
	t, some := a.Table("LANE", "HOST", "SINCE", "LAG"), false
	brought := map[int]bool{}
	for _, h := range list {
		for _, lane := range h.Serves {
			brought[lane.Lane] = true
		}
	}
	for _, h := range list {
		rows := slices.Clone(h.Serves)
		for _, lane := range h.Lanes {
			if !brought[lane] {
				rows = append(rows, client.LaneStatus{Lane: lane})
			}
		}
		slices.SortFunc(rows, func(a, b client.LaneStatus) int { return cmp.Compare(a.Lane, b.Lane) })
		for _, lane := range rows {
			if some = true; brought[lane.Lane] {
				t.Row(lane.Lane, h.Host, ago(lane.Since), lane.Lag)
			} else {
				t.Row(lane.Lane, "("+h.Host+")", "-", "-")
			}
		}
	}
	if !some {
		return nil
	}
	fmt.Fprintln(a.Stdout)
	return t.Write(a.Stdout)
}

func (a *app) printPartitions(list []fleetHost) error {
	t, some := a.Table("PARTITION", "HOST", "SINCE", "LAG"), false
	for _, h := range list {
		for _, one := range h.Partitions {
			t.Row(fmt.Sprintf("%s/%d", one.Agent, one.Partition), h.Host, ago(one.Since), one.Lag)
			some = true
		}
	}
	if !some {
		return nil
	}
	fmt.Fprintln(a.Stdout)
	return t.Write(a.Stdout)
}

func (a *app) printAccounts(list []fleetHost) error {
	t, some := a.Table("ACCOUNT", "HOST", "SINCE", "STATE"), false
	for _, h := range list {
		for _, one := range h.Accounts {
			t.Row(one.Account, h.Host, ago(one.Since), cli.Stated(one.State))
			some = true
		}
	}
	if !some {
		return nil
	}
	fmt.Fprintln(a.Stdout)
	return t.Write(a.Stdout)
}

func fleetHosts(hosts client.Fleet, pauses []client.Pause, accounts []client.ChannelAccount) []fleetHost {
	list := []fleetHost{}
	for _, s := range hosts {
		h := fleetHost{
			Host: s.Host, State: hostState(s, pauses), Weight: s.Weight, Lanes: append([]int{}, s.Placed...), Share: s.Share,
			Serves: append([]client.LaneStatus{}, s.Serves...), Partitions: append([]client.PartitionStatus{}, s.Partitions...), Accounts: []fleetAccount{}, Agents: len(s.Agents), Version: s.Version, Started: s.Started.UTC().Format("2006-01-02T15:04:05Z07:00"),
		}
		for _, agent := range s.Agents {
			h.Sessions, h.Running, h.Queued = h.Sessions+agent.Sessions, h.Running+agent.Running, h.Queued+agent.Queued
		}
		for _, one := range accounts {
			if one.Owner == s.Host {
				h.Accounts = append(h.Accounts, fleetAccount{one.Name(), one.State, one.Connected})
			}
		}
		list = append(list, h)
	}
	return list
}

// hostState is what a host is doing: serving, draining, paused where all agents are, or
// why it is not as it should be.
func hostState(s client.Status, pauses []client.Pause) string {
	switch s.State {
	case "stopping":
		return "draining"
	case "ready":
		for _, p := range pauses {
			if p.All {
				return "paused"
			}
		}
		return "serving"
	}
	return s.State
}
