package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agenthost/config"
	"agenthost/internal/control"

	"github.com/nats-io/nats.go"
)

const (
	// hostsWithin is what the first host has to answer within.
	hostsWithin = 500 * time.Millisecond
	// Each further one has as long after the one before as several of the first
	// answer took: hosts of one fleet are about as far away as each other.
	quietTimes            = 10
	quietLeast, quietMost = 30 * time.Millisecond, 150 * time.Millisecond
)

// A fleet is what the hosts that answer tell of themselves.
type fleet []control.Status

// askHosts asks all hosts how they are. That none answers is no error.
func askHosts(ctx context.Context, nc *nats.Conn) (fleet, error) {
	return ask(ctx, nc, quietLeast, func(control.Status) bool { return false })
}

// askEveryHost is askHosts for those who must not miss one that is slow.
func askEveryHost(ctx context.Context, nc *nats.Conn) (fleet, error) {
	return ask(ctx, nc, quietMost, func(control.Status) bool { return false })
}

// askHostsOf is askHosts that is content when a host with the agent answers.
func askHostsOf(ctx context.Context, nc *nats.Conn, agent string) (fleet, error) {
	return ask(ctx, nc, quietLeast, func(h control.Status) bool {
		return slices.ContainsFunc(h.Agents, func(a control.AgentStatus) bool { return a.ID == agent })
	})
}

// ask asks until a host is enough, or no further one answers for a while.
func ask(ctx context.Context, nc *nats.Conn, quiet time.Duration, enough func(control.Status) bool) (fleet, error) {
	hosts, err := gather(ctx, nc, control.StatusSubject, quiet, control.ReadStatus, enough)
	slices.SortFunc(hosts, func(a, b control.Status) int { return cmp.Compare(a.Host, b.Host) })
	return hosts, err
}

// askRuns asks all hosts for their runs.
func askRuns(ctx context.Context, nc *nats.Conn) ([]control.RunReport, error) {
	return gather(ctx, nc, control.RunsSubject, quietLeast, control.ReadRuns, func(control.RunReport) bool { return false })
}

// gather asks all hosts on a subject until an answer is enough, or no further
// one comes for a while.
func gather[T any](ctx context.Context, nc *nats.Conn, subject string, quiet time.Duration, read func([]byte) (T, error), enough func(T) bool) ([]T, error) {
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return nil, fmt.Errorf("ask hosts: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	if err := nc.PublishRequest(subject, sub.Subject, nil); err != nil {
		return nil, fmt.Errorf("ask hosts: %w", err)
	}
	var answers []T
	asked, within := time.Now(), hostsWithin
	for {
		answer, err := next(ctx, sub, within, read)
		switch {
		case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrNoResponders):
			return answers, context.Cause(ctx)
		case err != nil:
			return nil, fmt.Errorf("ask hosts: %w", err)
		}
		if answers = append(answers, answer); len(answers) == 1 {
			within = min(max(quietTimes*time.Since(asked), quiet), quietMost)
		}
		if enough(answer) {
			return answers, nil
		}
	}
}

func next[T any](ctx context.Context, sub *nats.Subscription, within time.Duration, read func([]byte) (T, error)) (answer T, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	msg, err := sub.NextMsgWithContext(ctx)
	if err != nil {
		return answer, err
	}
	return read(msg.Data)
}

// agents are the ids of the agents that any of the hosts serves.
func (f fleet) agents() []string {
	var ids []string
	for _, h := range f {
		for _, a := range h.Agents {
			ids = append(ids, a.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// noSuchAgent is the error of asking for an agent that is not among ids.
func noSuchAgent(id string, ids []string) error {
	if near := config.Nearest(id, ids); near != "" {
		return fmt.Errorf("no agent %q; did you mean %q?", id, near)
	}
	return fmt.Errorf("no agent %q; there is %s", id, strings.Join(ids, ", "))
}

// errNoHost is the error of asking hosts where none runs.
var errNoHost = errors.New(`no host answers; start one with "agenthost run"`)
