package control

import (
	"context"
	"slices"

	"agenthost/agents"
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

// A ModelListing is the models of all hosts.
type ModelListing struct {
	Models []client.HostModel `json:"models"`
}

func (h Host) models(ctx context.Context, _ none) (ModelListing, error) {
	list, err := h.client().Models(ctx)
	return ModelListing{h.askedBy(ctx, list)}, err
}

// askedBy is a list of models without the agents that the caller of ctx may not see. A caller for
// some agents sees the models that these may ask, and what these have spent.
func (h Host) askedBy(ctx context.Context, list []client.HostModel) []client.HostModel {
	kept := []client.HostModel{}
	spent := h.spentBySeen(ctx)
	for _, m := range list {
		if asks(ctx, &m.ModelStatus) {
			spent.show(&m.ModelStatus)
			kept = append(kept, m)
		}
	}
	return kept
}

// A spentOn is what some agents have spent on each model today; nil: what all have is shown.
type spentOn map[string]int64

func (s spentOn) show(m *client.ModelStatus) {
	if s != nil {
		m.SpentToday = s[m.Name]
	}
}

// spentBySeen is what the agents have spent that a caller for some agents may see; nothing when it
// cannot be known.
func (h Host) spentBySeen(ctx context.Context) spentOn {
	c := callerOf(ctx)
	if !c.limited() {
		return nil
	}
	sums := spentOn{}
	spends, err := agents.SpentSince(ctx, h.JS, now())
	if err != nil {
		h.Log.Debug().Err(err).Msg("look up what was spent")
	}
	for _, s := range spends {
		for model, amount := range s.Models {
			if c.reaches(s.Agent) {
				sums[model] = llm.Sum(sums[model], amount)
			}
		}
	}
	return sums
}

// asks takes the agents that the caller of ctx may not see from a model, and reports whether the
// caller may see that.
func asks(ctx context.Context, m *client.ModelStatus) bool {
	m.Agents = seen(ctx, m.Agents, itself)
	return len(m.Agents) > 0 || !callerOf(ctx).limited()
}

// reachModel refuses a model that the caller of ctx may not see, as if it were not there. An empty
// name is the agent's own.
func (h Host) reachModel(ctx context.Context, name string) error {
	if name == "" || !callerOf(ctx).limited() {
		return nil
	}
	for _, m := range h.Status().Models {
		if m.Name == name && asks(ctx, &m) {
			return nil
		}
	}
	return coded(client.CodeNotFound, "there is no model %q", name)
}

// itself is the agent of a list of their ids.
func itself(id string) string { return id }

// A BreakerReport is the breakers of a model on all hosts.
type BreakerReport struct {
	Models []client.HostModel `json:"models"`
	Missed []string           `json:"missed,omitempty"` // hosts that did not do it
}

// setBreaker is breaker on all hosts.
func (h Host) setBreaker(ctx context.Context, o breakerOrder) (BreakerReport, error) {
	all := h.clientFor(callerOf(ctx))
	set := map[string]func(context.Context, string) (client.Breaker, error){"trip": all.TripModel, "reset": all.ResetModel}[o.Action]
	if set == nil {
		return BreakerReport{}, coded(client.CodeBad, "action is %q; want trip or reset", o.Action)
	}
	b, err := set(ctx, o.Model)
	return BreakerReport{h.askedBy(ctx, b.Models), b.Missed}, err
}
