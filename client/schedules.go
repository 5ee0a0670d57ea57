package client

import (
	"context"

	"agenthost/heartbeat"
	"agenthost/internal/audit"
)

// A Scheduled is a schedule of the configuration, or a reminder.
type Scheduled = heartbeat.Entry

// Schedules lists what is scheduled, of all agents, what is due first in front.
func (c *Client) Schedules(ctx context.Context) ([]Scheduled, error) {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	list, err := heartbeat.Entries(ctx, c.js)
	return list, hintBucket(err)
}

// CancelReminder cancels a reminder of an agent.
func (c *Client) CancelReminder(ctx context.Context, agent, name string) error {
	ctx, cancel := context.WithTimeout(ctx, requestWithin)
	defer cancel()
	err := heartbeat.Cancel(ctx, c.js, agent, name)
	if err == nil {
		c.note(ctx, audit.Entry{Action: "schedules-cancel", Agent: agent, Target: name})
	}
	return hintBucket(err)
}
