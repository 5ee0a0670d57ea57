package control

import (
	"context"
	"slices"

	"agenthost/client"
	"agenthost/llm"
)

type breakerOrder struct {
	Model  string `json:"model" doc:"its name in the configuration"`
	Action string `json:"action" doc:"trip or reset"`
}

// breaker trips or resets the breaker of a model of this host.
func (h Host) breaker(_ context.Context, o breakerOrder) error {
	gates := h.Gates()
	i := slices.IndexFunc(gates, func(g *llm.Gate) bool { return g.Name() == o.Model })
	switch {
	case i < 0:
		return coded(client.CodeNotFound, "there is no model %q", o.Model)
	case o.Action == "trip":
		gates[i].Trip()
	case o.Action == "reset":
		gates[i].Reset()
	default:
		return coded(client.CodeBad, "action is %q; want trip or reset", o.Action)
	}
	h.Log.Warn().Str("model", o.Model).Str("action", o.Action).Msg("breaker set by hand")
	return nil
}
