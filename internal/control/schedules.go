package control

import (
	"context"

	"agenthost/client"
)

// A ScheduleListing is what is scheduled, what is due first in front.
type ScheduleListing struct {
	Schedules []client.Scheduled `json:"schedules"`
}

func (h Host) schedules(ctx context.Context, asked byAgent) (ScheduleListing, error) {
	all, err := h.client().Schedules(ctx)
	list := ScheduleListing{Schedules: []client.Scheduled{}}
	for _, s := range seen(ctx, all, func(s client.Scheduled) string { return s.Agent }) {
		if asked.keeps(s.Agent) {
			list.Schedules = append(list.Schedules, s)
		}
	}
	return list, err
}

// A ScheduleName names a schedule of an agent.
type ScheduleName struct {
	Agent string `json:"agent"`
	Name  string `json:"name" doc:"of the reminder, as the list has it"`
}

func (h Host) cancelSchedule(ctx context.Context, n ScheduleName) (Done, error) {
	all, err := h.schedules(ctx, byAgent{n.Agent})
	if err != nil {
		return Done{}, err
	}
	for _, s := range all.Schedules {
		switch {
		case s.Name != n.Name:
		case s.Source == "config":
			return Done{}, coded(client.CodeBad, "schedule %s of %s is one of the configuration; take it out there", n.Name, n.Agent)
		default:
			return Done{true}, h.client().CancelReminder(ctx, n.Agent, n.Name)
		}
	}
	return Done{}, coded(client.CodeNotFound, "there is no reminder %q of %q", n.Name, n.Agent)
}
