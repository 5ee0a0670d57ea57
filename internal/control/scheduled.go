package control

import (
	"context"

	"agenthost/heartbeat"

	"github.com/nats-io/nats.go/jetstream"
)

// A Scheduled is a schedule or a reminder.
type Scheduled = heartbeat.Entry

// AllScheduled lists what is scheduled, of all agents, what is due first in
// front.
func AllScheduled(ctx context.Context, js jetstream.JetStream) ([]Scheduled, error) {
	return heartbeat.Entries(ctx, js)
}

// CancelReminder cancels a reminder of an agent.
func CancelReminder(ctx context.Context, js jetstream.JetStream, agent, name string) error {
	return heartbeat.Cancel(ctx, js, agent, name)
}
