package agents

import (
	"context"
	"time"

	"agenthost/agents/internal/budget"

	"github.com/nats-io/nats.go/jetstream"
)

// A Spend is what an agent has spent in a UTC day, all hosts together, as the
// bucket AGENT_SPEND keeps it under <agent>.<day>.
type Spend = budget.Spend

// A Share is what one host has reserved for its calls under way.
type Share = budget.Share

// Reservations are amounts in micro-cents, mostly by run.
type Reservations = budget.Reservations

// A Total is what was spent in a UTC day, in micro-cents.
type Total = budget.Total

// SpentToday reads what was spent in this UTC day, by all hosts.
func SpentToday(ctx context.Context, js jetstream.JetStream, now time.Time) (Total, error) {
	return budget.SpentToday(ctx, js, now)
}

// SpentInMonth reads what an agent has spent in this UTC month, in micro-cents.
func SpentInMonth(ctx context.Context, js jetstream.JetStream, agent string, now time.Time) (int64, error) {
	return budget.SpentInMonth(ctx, js, agent, now)
}

// A DaySpend is what one agent has spent in one UTC day, all hosts together.
type DaySpend = budget.DaySpend

// SpentSince reads what all agents have spent from the day of a time on, by day and
// agent.
func SpentSince(ctx context.Context, js jetstream.JetStream, from time.Time) ([]DaySpend, error) {
	return budget.SpentSince(ctx, js, from)
}
