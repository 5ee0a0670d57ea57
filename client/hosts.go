package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/config"

	"github.com/nats-io/nats.go"
)

const (
	// firstWithin is the time limit of the first answer. Without any host NATS says so at
	// once; a host that is up may be busy.
	firstWithin = 2 * time.Second
	// Each further one has as long after the one before as several of the first
	// answer took: hosts of one fleet are about as far away as each other.
	quietTimes            = 10
	quietLeast, quietMost = 30 * time.Millisecond, 150 * time.Millisecond
	// A busy host is much slower than others. What none of them has is called unknown only
	// after so long without a further answer.
	quietBeforeUnknown = 500 * time.Millisecond
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

// patientHosts is EveryHost for what some hosts alone have: it ends early with one that is
// enough.
func (c *Client) patientHosts(ctx context.Context, enough func(Status) bool) (Fleet, error) {
	return c.hosts(ctx, quietBeforeUnknown, enough)
}

// Host returns as soon as the host of that name answers. Where others run and it does
// not, the error is an *UnknownError; without any it is ErrNoHost.
func (c *Client) Host(ctx context.Context, name string) (Status, error) {
	hosts, err := c.patientHosts(ctx, func(h Status) bool { return h.Host == name })
	if err != nil {
		return Status{}, err
	}
	if len(hosts) == 0 {
		return Status{}, ErrNoHost
	}
	i := slices.Index(hosts.Names(), name)
	if i < 0 {
		return Status{}, &UnknownError{What: "host", Name: name, Known: hosts.Names()}
	}
	return hosts[i], nil
}

// HostsOf is Hosts that returns as soon as a host with the agent answers. Where
// hosts run and none has the agent, the error is an *UnknownError; without hosts
// that cannot be known, and the Fleet is empty.
func (c *Client) HostsOf(ctx context.Context, agent string) (Fleet, error) {
	hosts, err := c.patientHosts(ctx, func(h Status) bool {
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
		return nil, fmt.Errorf("ask hosts: %w", hintAway(err))
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
			within = max(min(quietTimes*time.Since(asked), quietMost), quiet)
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
		return fmt.Errorf("ask hosts: %w", hintAway(err))
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

// StatusSubject is where every host of the fleet answers with its Status.
const StatusSubject = "agenthost.status"

// Status is what a host reports about itself.
type Status struct {
	Host    string       `json:"host"`
	Version string       `json:"version"`
	State   string       `json:"state"` // ready, degraded, or why not
	Started time.Time    `json:"started"`
	Serving int          `json:"serving"` // lanes that this host serves
	Lanes   int          `json:"lanes"`   // lanes that it could
	Weight  int          `json:"weight"`  // its share of the lanes beside those of other hosts
	Share   int          `json:"share"`   // how many lanes it is to serve, by their numbers
	Placed  []int        `json:"placed"`  // the numbers of those that it serves, or would if anything came
	Serves  []LaneStatus `json:"serves"`  // the lanes that this host serves
	// Partitions are those of hot agents that this host serves.
	Partitions []PartitionStatus `json:"partitions,omitempty"`
	Agents     []AgentStatus     `json:"agents"`
	Models     []ModelStatus     `json:"models,omitempty"`
	// ToolFaults are the tools that are left out, and sources that cannot be
	// reached, in words.
	ToolFaults []string `json:"tool_faults,omitempty"`
	// Refused is what is wrong with the configuration as it was last read; until
	// it is right the host goes by the one before.
	Refused []config.Problem `json:"config_refused,omitempty"`
}

// LaneStatus is how a host serves a lane.
type LaneStatus struct {
	Lane  int       `json:"lane"`
	Since time.Time `json:"since"`
	Lag   uint64    `json:"lag"` // messages that are not done, those in progress among them
}

// PartitionStatus is how a host serves a partition of an agent.
type PartitionStatus struct {
	Agent     string    `json:"agent"`
	Partition int       `json:"partition"`
	Since     time.Time `json:"since"`
	Lag       uint64    `json:"lag"` // messages that are not done, those in progress among them
}

// ReadStatus reads the answer of a host on StatusSubject.
func ReadStatus(data []byte) (Status, error) {
	s := Status{}
	err := json.Unmarshal(data, &s)
	return s, err
}

// Names are those of the hosts.
func (f Fleet) Names() (names []string) {
	for _, h := range f {
		names = append(names, h.Host)
	}
	return names
}
