package client

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"agenthost/bus"
	"agenthost/internal/audit"
	"agenthost/internal/pause"
)

type (
	// Pause is an agent, a channel or all, for which nothing new starts.
	Pause = pause.Pause
	// PauseTarget is what is paused.
	PauseTarget = pause.Target
)

// Why something is not paused, or cannot be.
var (
	ErrNotPaused = pause.ErrNotPaused
	ErrNoTarget  = pause.ErrNoTarget
)

// Pause lets nothing new start for an agent, a channel or all, on all hosts, until
// Resume; what comes is kept. No host needs to run.
func (c *Client) Pause(ctx context.Context, p Pause) (Pause, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	p, err := pause.NewStore(c.js).Begin(ctx, p)
	if err == nil {
		c.note(ctx, audit.Entry{Action: "pause", By: p.By, Agent: p.Agent, Target: p.String(), Detail: p.Reason})
	}
	return p, hintBucket(err)
}

// PauseWarning says of a target that it may be another than was meant, as no host that runs has
// the agent, or none of their agents is bound to the channel. It is empty where there is one, or
// where no host says. A pause of such a target is kept until there is one.
func (c *Client) PauseWarning(ctx context.Context, t PauseTarget) string {
	switch {
	case t.Agent != "":
		_, err := c.HostsOf(ctx, t.Agent)
		if unknown, ok := errors.AsType[*UnknownError](err); ok {
			return fmt.Sprintf("%v (the pause is kept until there is one)", unknown)
		}
	case t.Channel != "":
		if hosts, err := c.Hosts(ctx); err == nil && !mayBeBound(hosts, t.Channel) {
			return fmt.Sprintf("no agent is bound to channel %q (the pause is kept until one is)", t.Channel)
		}
	}
	return ""
}

// mayBeBound reports whether an agent is bound to a channel with any of its instances, or
// to that one of them, as far as the hosts say so. All are to those of doors.
func mayBeBound(hosts Fleet, channel string) bool {
	name, instance, _ := strings.Cut(channel, ".")
	if bus.IsDoor(name) {
		return true
	}
	for _, h := range hosts {
		for _, agent := range h.Agents {
			if agent.Channels == nil {
				return true // an older host, which does not say
			}
			for _, bound := range agent.Channels {
				boundName, boundInstance, _ := strings.Cut(bound, ".")
				if boundName == name && (instance == "" || boundInstance == instance || boundInstance == "*") {
					return true
				}
			}
		}
	}
	return false
}

// Resume ends a pause, and what was kept begins.
func (c *Client) Resume(ctx context.Context, t PauseTarget) error {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	err := pause.NewStore(c.js).End(ctx, t)
	if err == nil {
		c.note(ctx, audit.Entry{Action: "resume", Agent: t.Agent, Target: t.String()})
	}
	return hintBucket(err)
}

// Pauses lists what is paused, the oldest first.
func (c *Client) Pauses(ctx context.Context) ([]Pause, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	list, err := pause.NewStore(c.js).List(ctx)
	return list, hintBucket(err)
}
