package control

import (
	"context"
	"errors"
	"slices"

	"agenthost/client"
)

// A PauseListing is what is paused.
type PauseListing struct {
	Pauses []client.Pause `json:"pauses"`
}

func (h Host) pauses(ctx context.Context, _ none) (PauseListing, error) {
	list, err := h.client().Pauses(ctx)
	c := callerOf(ctx)
	list = slices.DeleteFunc(notNil(list), func(p client.Pause) bool { return p.Agent != "" && !c.reaches(p.Agent) })
	return PauseListing{list}, err
}

// A PauseOrder says what is to be paused: one of agent, channel and all.
type PauseOrder struct {
	client.PauseTarget
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty" doc:"why, for those who look"`
}

// A Paused is what an order has paused.
type Paused struct {
	client.Pause
	// Warning says that there is no such agent, or that none is bound to the channel.
	Warning string `json:"warning,omitempty"`
}

func (h Host) pause(ctx context.Context, o PauseOrder) (Paused, error) {
	limited := callerOf(ctx).limited()
	if limited && (o.Agent == "" || o.Channel != "" || o.All) { // a channel may have other agents
		return Paused{}, errWhole
	}
	p, err := h.clientFor(callerOf(ctx)).Pause(ctx, client.Pause{
		Target: o.PauseTarget, By: callerOf(ctx).by(o.By), Reason: o.Reason,
	})
	if errors.Is(err, client.ErrNoTarget) {
		err = coded(client.CodeBad, "%w", err)
	}
	if err != nil || limited { // the warning would name other agents
		return Paused{Pause: p}, err
	}
	return Paused{p, h.client().PauseWarning(ctx, o.PauseTarget)}, nil
}

func (h Host) resume(ctx context.Context, t client.PauseTarget) (client.PauseTarget, error) {
	if callerOf(ctx).limited() && (t.Agent == "" || t.Channel != "" || t.All) {
		return t, errWhole
	}
	err := h.clientFor(callerOf(ctx)).Resume(ctx, t)
	switch {
	case errors.Is(err, client.ErrNoTarget):
		err = coded(client.CodeBad, "%w", err)
	case errors.Is(err, client.ErrNotPaused):
		err = coded(client.CodeNotFound, "%w", err)
	}
	return t, err
}

// pauseOperations let nothing new start, and let it go on.
func (h Host) pauseOperations() []Operation {
	return []Operation{
		report(Operation{Name: "pauses-ls", Subject: "agenthost.pauses.ls", Path: "/pauses", Do: do(none{}, h.pauses), About: "what is paused, by whom, since when and why"}),
		report(Operation{
			Name: "pause", Subject: "agenthost.pauses.begin", Path: "/pauses/begin", Do: do(PauseOrder{}, h.pause), Changes: true,
			About: "lets nothing new start for an agent, a channel or all: one of agent, channel and all; by, reason",
		}),
		report(Operation{
			Name: "resume", Subject: "agenthost.pauses.end", Path: "/pauses/end", Do: do(client.PauseTarget{}, h.resume), Changes: true,
			About: "ends a pause, and what was kept begins: one of agent, channel and all",
		}),
	}
}
