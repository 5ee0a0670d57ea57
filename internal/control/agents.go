package control

import (
	"context"
	"slices"

	"agenthost/agents"
	"agenthost/client"
)

// An AgentProfile is what an agent is and may do, by the configuration.
type AgentProfile struct {
	ID          string            `json:"id"`
	Description string            `json:"description,omitempty"`
	Models      []string          `json:"models"`
	Channels    []string          `json:"channels"` // its bindings, such as telegram.sales
	Tools       []string          `json:"tools"`    // names and globs that it is granted
	Permissions map[string]string `json:"permissions"`
	Delegates   []string          `json:"delegates"` // whom it may ask
	Accepts     []string          `json:"accepts"`   // agents that may ask it; * are all
	Approvers   []string          `json:"approvers"`
	ShadowOf    string            `json:"shadow_of,omitempty"`
	Budget      agents.Budget     `json:"budget,omitzero"` // in dollars
}

// An AgentView is an agent over all hosts: how it is doing, and what it may do.
type AgentView struct {
	client.AgentStatus
	ServedBy []string     `json:"served_by"` // hosts that bring it its messages
	Hosts    []string     `json:"hosts"`     // hosts that could
	Profile  AgentProfile `json:"profile"`
}

// An AgentListing is the agents of the fleet.
type AgentListing struct {
	Agents []AgentView `json:"agents"`
}

func (h Host) agents(ctx context.Context, asked byAgent) (AgentListing, error) {
	hosts, err := h.client().EveryHost(ctx)
	if err != nil {
		return AgentListing{}, err
	}
	profiles := map[string]AgentProfile{}
	for _, p := range h.Profiles() {
		profiles[p.ID] = p
	}
	list := AgentListing{Agents: []AgentView{}}
	for _, a := range seen(ctx, hosts.Served(), func(a *client.ServedAgent) string { return a.ID }) {
		if asked.keeps(a.ID) {
			list.Agents = append(list.Agents, AgentView{a.AgentStatus, notNil(a.Serving), notNil(a.Able), profiles[a.ID]})
		}
	}
	if asked.Agent != "" && len(list.Agents) == 0 {
		return list, coded(client.CodeNotFound, "%w", &client.UnknownError{What: "agent", Name: asked.Agent, Known: h.known(ctx)})
	}
	return list, nil
}

// known are the agents of this host that the caller may see.
func (h Host) known(ctx context.Context) []string {
	var ids []string
	for _, p := range seen(ctx, h.Profiles(), func(p AgentProfile) string { return p.ID }) {
		ids = append(ids, p.ID)
	}
	slices.Sort(ids)
	return ids
}

// notNil is list as JSON shows an empty one.
func notNil[T any](list []T) []T { return append([]T{}, list...) }

func (h Host) prompt(_ context.Context, p client.PreviewRequest) (agents.Preview, error) {
	shown, ok := h.Fleet.Preview(p.Agent)
	if !ok {
		return agents.Preview{}, coded(client.CodeNotFound, "there is no agent %q", p.Agent)
	}
	shown.System = h.Redact(shown.System)
	for i := range shown.Bindings {
		shown.Bindings[i].System = h.Redact(shown.Bindings[i].System)
	}
	return shown, nil
}
