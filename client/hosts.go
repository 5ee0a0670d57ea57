package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// firstWithin is what the first host has to answer within.
	firstWithin = 500 * time.Millisecond
	// Each further one has as long after the one before as several of the first
	// answer took: hosts of one fleet are about as far away as each other.
	quietTimes            = 10
	quietLeast, quietMost = 30 * time.Millisecond, 150 * time.Millisecond
)

// A Fleet is what the hosts that answer report about themselves, by name.
type Fleet []Status

// Hosts asks all hosts for their status. A fleet without hosts is no error. A
// host that is much slower than the first may be missing; see EveryHost.
func (c *Client) Hosts(ctx context.Context) (Fleet, error) {
	return c.hosts(ctx, quietLeast, func(Status) bool { return false })
}

// EveryHost is Hosts for callers that must not miss a slow host. That there is
// none is ErrNoHost.
func (c *Client) EveryHost(ctx context.Context) (Fleet, error) {
	hosts, err := c.hosts(ctx, quietMost, func(Status) bool { return false })
	if err == nil && len(hosts) == 0 {
		err = ErrNoHost
	}
	return hosts, err
}

// HostsOf is Hosts that returns as soon as a host with the agent answers. Where
// hosts run and none has the agent, the error is an *UnknownError; without hosts
// that cannot be known, and the Fleet is empty.
func (c *Client) HostsOf(ctx context.Context, agent string) (Fleet, error) {
	hosts, err := c.hosts(ctx, quietLeast, func(h Status) bool {
		return slices.ContainsFunc(h.Agents, func(a AgentStatus) bool { return a.ID == agent })
	})
	if ids := hosts.Agents(); err == nil && len(hosts) > 0 && !slices.Contains(ids, agent) {
		err = &UnknownError{What: "agent", Name: agent, Known: ids}
	}
	return hosts, err
}

// hosts asks until a host is enough, or no further one answers for a while.
func (c *Client) hosts(ctx context.Context, quiet time.Duration, enough func(Status) bool) (Fleet, error) {
	hosts, err := gather(ctx, c.nc, StatusSubject, quiet, ReadStatus, enough)
	slices.SortFunc(hosts, func(a, b Status) int { return cmp.Compare(a.Host, b.Host) })
	return hosts, err
}

// gather asks all hosts on a subject until an answer is enough, or no further
// one comes for a while.
func gather[T any](ctx context.Context, nc *nats.Conn, subject string, quiet time.Duration, read func([]byte) (T, error), enough func(T) bool) ([]T, error) {
	sub, err := request(nc, subject, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("ask hosts: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	var answers []T
	asked, within := time.Now(), firstWithin
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

// request publishes a request that several hosts answer.
func request(nc *nats.Conn, subject string, data []byte, header nats.Header) (*nats.Subscription, error) {
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg(subject)
	msg.Reply, msg.Data, msg.Header = sub.Subject, data, header
	if err := nc.PublishMsg(msg); err != nil {
		_ = sub.Unsubscribe() // the connection may be gone
		return nil, err
	}
	return sub, nil
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

// order has all hosts do something and passes their answers to take until it has
// enough, or for as long as within. What is missing then is for the caller to
// find; only the end of ctx and the error of take are errors.
func (c *Client) order(ctx context.Context, subject string, data []byte, within time.Duration, take func([]byte) (enough bool, err error)) error {
	sub, err := request(c.nc, subject, data, c.header())
	if err != nil {
		return fmt.Errorf("ask hosts: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	for {
		msg, err := sub.NextMsgWithContext(waiting)
		if err != nil {
			return context.Cause(ctx)
		}
		if enough, err := take(msg.Data); enough || err != nil {
			return err
		}
	}
}

// Agents are the ids of the agents that any of the hosts serves.
func (f Fleet) Agents() []string {
	var ids []string
	for _, h := range f {
		for _, a := range h.Agents {
			ids = append(ids, a.ID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// A ServedAgent is an agent with the numbers of all hosts.
type ServedAgent struct {
	AgentStatus
	Serving []string // hosts that bring it its messages
	Able    []string // hosts that could
}

// Served are the agents of a fleet, in the order of the first host that has them.
func (f Fleet) Served() []*ServedAgent {
	var list []*ServedAgent
	known := map[string]*ServedAgent{}
	for _, h := range f {
		for _, a := range h.Agents {
			s := known[a.ID]
			if s == nil {
				s = &ServedAgent{AgentStatus: a}
				known[a.ID] = s
				list = append(list, s)
			} else {
				s.add(a)
			}
			s.Able = append(s.Able, h.Host)
			if a.Serving {
				s.Serving = append(s.Serving, h.Host)
			}
		}
	}
	return list
}

// add adds what another host reports about the agent. Money and heartbeats are
// those of the fleet already.
func (s *ServedAgent) add(a AgentStatus) {
	s.Sessions += a.Sessions
	s.Running += a.Running
	s.Queued += a.Queued
	s.Suspects += a.Suspects
	if s.State == "ready" {
		s.State = a.State
	}
}
