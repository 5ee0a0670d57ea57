package control

import (
	"context"
	"errors"

	"agenthost/client"
	"agenthost/internal/why"
)

// An ID is that of a message, a reply, a run or a call.
type ID struct {
	ID string `json:"id" doc:"of a message, a reply, a run or a call"`
}

func (h Host) why(ctx context.Context, asked ID) (why.Way, error) {
	if asked.ID == "" {
		return why.Way{}, coded(client.CodeBad, "which id? want that of a message, a reply, a run or a call")
	}
	way, err := why.FindLive(ctx, h.client(), asked.ID, nil)
	if err == nil {
		way.Steps = seen(ctx, way.Steps, func(s why.Step) string { return s.Agent })
		if len(way.Steps) == 0 {
			err = why.ErrUnknown
		}
	}
	if errors.Is(err, why.ErrUnknown) {
		// in the same words for an id that does not exist and one that the caller may not see
		return why.Way{}, coded(client.CodeNotFound, "why %s: %w", asked.ID, why.ErrUnknown)
	}
	return way, err
}
