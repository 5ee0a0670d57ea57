package host

import (
	"context"
	"slices"
	"time"

	"agenthost/agents"
	"agenthost/client"
	"agenthost/config"
	"agenthost/internal/build"
	"agenthost/internal/control"
	"agenthost/llm"

	"github.com/nats-io/nats.go/jetstream"
)

// operations is what the operations need of this host.
func (a *assembly) operations() control.Host {
	started := time.Now().UTC()
	return control.Host{
		Name: a.opt.Name, Version: a.opt.Version, NC: a.bus.NC, JS: a.bus.JS, Signer: a.signer, Fleet: a.fleet, Started: started, Log: a.log,
		Status:   func() client.Status { return a.status(started) },
		Channels: a.accountStatus,
		Drain:    a.stop,
		Reload:   func(ctx context.Context) client.Reloaded { return a.Reload(ctx, ByCommand) },
		Serves:   a.serves, Gates: a.gates, Redact: a.builder.Secrets().Redact,
		Profiles: a.profiles, Chain: a.chain, Rerun: a.rerun, TokenNames: tokenNames(a.opt.Config),
	}
}

func (a *assembly) status(started time.Time) client.Status {
	now := a.now.Load()
	serving, lanes := a.fleet.Serving()
	share := a.fleet.Share()
	state := *a.state.Load()
	if state == "" {
		state = a.readiness()
	}
	s := client.Status{
		Host: a.opt.Name, Version: a.opt.Version, State: state, Started: started, Serving: serving, Lanes: lanes,
		Weight: share.Weight, Share: share.Share, Placed: append([]int{}, share.Lanes...), Serves: []client.LaneStatus{},
		Agents: []client.AgentStatus{}, ToolFaults: append(now.Tools.Faults(), now.Tools.NotOffered(now.Agents)...), Refused: *a.refused.Load(),
	}
	for _, one := range a.fleet.Lanes() {
		s.Serves = append(s.Serves, client.LaneStatus(one))
	}
	for _, one := range a.fleet.Partitions() {
		s.Partitions = append(s.Partitions, client.PartitionStatus(one))
	}
	spent := a.spentToday(a.bus.JS)
	s.Models = modelStatus(now, spent.Models)
	for _, one := range a.fleet.Status() {
		one.SpentToday, one.SpentMonth = spent.Agents[one.ID], a.spentMonth(a.bus.JS, now.Config, one.ID)
		s.Agents = append(s.Agents, a.agentStatus(now, one))
	}
	return s
}

func (a *assembly) agentStatus(now *build.Setup, one agents.Status) client.AgentStatus {
	s := client.AgentStatus{Status: one, State: "ready"}
	if f, ok := now.Faults[one.ID]; ok {
		s.State, s.Reason = f.State(), f.Err.Error()
	}
	if c, ok := a.wakers.beats.Load().Count(one.ID); ok {
		s.Heartbeat = &c
	}
	return s
}

func modelStatus(now *build.Setup, spent map[string]int64) []client.ModelStatus {
	var list []client.ModelStatus
	for _, gate := range now.Models.Gates() {
		m := now.Models[gate.Name()]
		list = append(list, client.ModelStatus{
			Name: gate.Name(), Provider: m.Link.Name, Model: m.Link.Model, Agents: askers(now.Agents, gate.Name()), GateStatus: gate.Status(), Rate: m.Config.Rate, SpentToday: spent[gate.Name()],
		})
	}
	return list
}

// askers are the agents that may ask a model, by themselves or on a channel.
func askers(all []config.Agent, model string) []string {
	var ids []string
	for _, a := range all {
		bound := func(b agents.Binding) bool { return slices.Contains(b.Model, model) }
		if slices.Contains(a.Model, model) || slices.ContainsFunc(a.Channels, bound) {
			ids = append(ids, a.ID)
		}
	}
	return ids
}

// spentWithin bounds what a status takes to look up money.
const spentWithin = time.Second

// spentToday is what was spent in this UTC day; nothing when it cannot be known.
func (h *Host) spentToday(js jetstream.JetStream) agents.Total {
	ctx, cancel := context.WithTimeout(context.Background(), spentWithin)
	defer cancel()
	spent, err := agents.SpentToday(ctx, js, time.Now())
	if err != nil {
		h.log.Debug().Err(err).Msg("look up what was spent")
	}
	return spent
}

// spentMonth is what an agent with a budget for the month has spent of it; 0 when
// it cannot be known.
func (h *Host) spentMonth(js jetstream.JetStream, cfg *config.Config, agent string) int64 {
	i := slices.IndexFunc(cfg.Agents, func(a config.Agent) bool { return a.ID == agent })
	if i < 0 || cfg.Agents[i].Limits.Budget.Month == 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), spentWithin)
	defer cancel()
	spent, err := agents.SpentInMonth(ctx, js, agent, time.Now())
	if err != nil {
		h.log.Debug().Err(err).Str("agent", agent).Msg("look up what was spent this month")
	}
	return spent
}

// serves reports whether there is an agent of that id.
func (h *Host) serves(agent string) bool {
	return slices.ContainsFunc(h.now.Load().Config.Agents, func(a config.Agent) bool { return a.ID == agent })
}

// gates are those of all models as they are now.
func (h *Host) gates() []*llm.Gate { return h.now.Load().Models.Gates() }
