package host

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"sync"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/microservice"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/llm"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nats.go/micro"
)

// ServiceName is the name of the micro service that every host is.
const ServiceName = "agenthost"

// StatusSubject is where every host of the fleet answers with its Status.
const StatusSubject = "agenthost.status"

// Status is what a host tells of itself.
type Status struct {
	Host    string        `json:"host"`
	Version string        `json:"version"`
	State   string        `json:"state"` // ready, degraded, or why not
	Started time.Time     `json:"started"`
	Serving int           `json:"serving"` // lanes that this host serves
	Lanes   int           `json:"lanes"`   // lanes that it could
	Agents  []AgentStatus `json:"agents"`
	Models  []ModelStatus `json:"models,omitempty"`
	// ToolFaults are the tools that are left out, and sources that cannot be
	// reached, in words.
	ToolFaults []string `json:"tool_faults,omitempty"`
	// Refused is what is wrong with the configuration as it was last read; until
	// it is right the host goes by the one before.
	Refused []config.Problem `json:"config_refused,omitempty"`
}

// Heartbeats counts the ticks of an agent.
type Heartbeats = heartbeat.Count

// AgentStatus is what a host tells of one of its agents.
type AgentStatus struct {
	agents.Status
	State  string `json:"state"`            // ready, degraded or quarantined
	Reason string `json:"reason,omitempty"` // why it is not ready
	// Heartbeat counts its ticks, in the whole fleet; nil when it has had none.
	Heartbeat *Heartbeats `json:"heartbeat,omitempty"`
}

// serveMicro answers on $SRV and on the endpoints of the service. Its status
// and its breakers are every host's own, and stream is answered by the host
// whose model speaks; the others are answered by one of the fleet.
func (h *Host) serveMicro(b *bus.Bus, wakers *wakers) (stop func(), err error) {
	reports, started := &sync.WaitGroup{}, time.Now().UTC()
	sessions := &archivist{archive: Sessions(b.JS), nc: b.NC, drop: h.fleet.Load().Drop, work: reports}
	dead := &deadService{b.JS, b.NC, reports}
	svc, err := microservice.Start(b.NC, microservice.Config{
		Name: ServiceName, Version: semver(h.opt.Version), Description: "a host of agents",
		Metadata: map[string]string{"host": h.opt.Name}, Log: h.log,
	}, slices.Concat(h.endpoints(b, started, wakers, reports), sessions.endpoints(), dead.endpoints())...)
	if err != nil {
		return nil, err
	}
	looking, cancel := context.WithTimeout(context.Background(), askWithin)
	reports.Go(func() { h.warnNamesake(looking, b.NC, svc.ID()) })
	return func() {
		cancel()
		svc.Stop()
		reports.Wait()
	}, nil
}

// warnNamesake says when another host of the fleet has the name of this one, whose
// service is own: who reads a log or the list of hosts takes them for one.
func (h *Host) warnNamesake(ctx context.Context, nc *nats.Conn, own string) {
	sub, err := nc.SubscribeSync(nc.NewInbox())
	if err != nil {
		return // the connection is away, which is said elsewhere
	}
	defer func() { _ = sub.Unsubscribe() }() // the same
	if err := nc.PublishRequest("$SRV.PING."+ServiceName, sub.Subject, nil); err != nil {
		return
	}
	for {
		msg, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return // all who are there have answered
		}
		var ping micro.Ping
		if json.Unmarshal(msg.Data, &ping) == nil && ping.ID != own && ping.Metadata["host"] == h.opt.Name {
			h.log.Warn().Str("host", h.opt.Name).Msg("another host of this name is running on this NATS; give each a --name of its own")
			return
		}
	}
}

// endpoints are those of the host itself.
func (h *Host) endpoints(b *bus.Bus, started time.Time, wakers *wakers, reports *sync.WaitGroup) []microservice.Endpoint {
	doors := &doors{js: b.JS, signer: h.signer, served: h.serves}
	status := micro.HandlerFunc(func(req micro.Request) {
		_ = req.RespondJSON(h.status(b.JS, started, wakers.beats.Load())) // who asked may be gone
	})
	runs := micro.HandlerFunc(func(req micro.Request) {
		_ = req.RespondJSON(h.runs()) // the same
	})
	return []microservice.Endpoint{
		{Name: "status", Subject: StatusSubject, Handler: status, All: true, Description: "what every host and its agents are doing"},
		{
			Name: "breaker", Subject: BreakerSubject, Handler: door(h.breaker), All: true,
			Description: "takes a model out of service on every host, and back: model, action (trip, reset)",
		},
		{
			Name: "stream", Subject: SpeakingSubject, Handler: micro.HandlerFunc(h.speak), All: true,
			Description: "what the model of a session has said so far: agent, session; only its host answers, and only while it speaks",
		},
		{
			Name: "reload", Subject: ReloadSubject, Handler: micro.HandlerFunc(h.reloadDoor), All: true,
			Description: "reads the configuration again, on every host; each tells what came of it",
		},
		{Name: "runs", Subject: RunsSubject, Handler: runs, All: true, Description: "the runs of every host: what each is doing, since when, what it waits for"},
		{Name: "prompt", Subject: PromptSubject, Handler: report(reports, h.preview), Description: "what the model of an agent gets with each call: agent"},
		{Name: "approve", Subject: ApproveSubject, Handler: door(doors.approve), Description: "answers a call that waits: id, answer, scope, by, args"},
		{Name: "abort", Subject: AbortSubject, Handler: door(doors.abort), Description: "stops the run of a session: agent, session, by, reason"},
	}
}

func (h *Host) status(js jetstream.JetStream, started time.Time, beats *heartbeat.Beats) Status {
	fleet, now := h.fleet.Load(), h.now.Load()
	serving, lanes := fleet.Serving()
	state := *h.state.Load()
	if state == "" {
		state = h.readiness()
	}
	s := Status{
		Host: h.opt.Name, Version: h.opt.Version, State: state, Started: started, Serving: serving, Lanes: lanes,
		Agents: []AgentStatus{}, ToolFaults: now.shop.faults(), Refused: *h.refused.Load(),
	}
	spent := h.spentToday(js)
	s.Models = h.modelStatus(spent.Models)
	for _, a := range fleet.Status() {
		a.SpentToday, a.SpentMonth = spent.Agents[a.ID], h.spentMonth(js, now.cfg, a.ID)
		one := AgentStatus{Status: a, State: "ready"}
		if f, ok := now.faults[a.ID]; ok {
			one.State, one.Reason = f.state(), f.err.Error()
		}
		if c, ok := beats.Count(a.ID); ok {
			one.Heartbeat = &c
		}
		s.Agents = append(s.Agents, one)
	}
	return s
}

// spentWithin bounds what a host that tells of itself takes to look up money.
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

// Money writes an amount of micro-cents for people.
func Money(microCents int64) string { return llm.Money(microCents) }

// readiness is ready, or degraded when an agent has a fault or the
// configuration as it stands in its files was refused.
func (h *Host) readiness() string {
	if len(h.now.Load().faults)+len(*h.refused.Load()) > 0 {
		return "degraded"
	}
	return "ready"
}

func (f agentFault) state() string {
	if f.quarantined {
		return "quarantined"
	}
	return "degraded"
}

var isSemver = regexp.MustCompile(`^\d+\.\d+\.\d+`)

// semver is version as the micro protocol wants it.
func semver(version string) string {
	if isSemver.MatchString(version) {
		return version
	}
	return "0.0.0"
}

// ReadStatus reads the answer of a host.
func ReadStatus(data []byte) (Status, error) {
	s := Status{}
	err := json.Unmarshal(data, &s)
	return s, err
}
