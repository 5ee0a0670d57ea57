package client

import (
	"context"

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
