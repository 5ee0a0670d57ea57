package host

import (
	"context"
	"net/http"
	"slices"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/client"
	"agenthost/config"
	"agenthost/doors"
	"agenthost/doors/a2a"
	"agenthost/doors/agentprotocol"
	"agenthost/doors/mcp"
	"agenthost/doors/openai"
	"agenthost/internal/build"
)

// An httpDoor is a door of this host's listener.
type httpDoor struct {
	name  string // one of bus.Doors
	paths []string
	// at and about are for who asks what there is.
	at, about string
	make      func(doors.Parts) http.Handler
	// starting answers while the host has no NATS, for a reason.
	starting func(w http.ResponseWriter, reason string)
}

// httpDoors are all of them.
func httpDoors() []httpDoor {
	return []httpDoor{
		{bus.DoorA2A, a2a.Paths, "/a2a/{agent}", "Agent2Agent 1.0, for other agents; the card is at /a2a/{agent}/.well-known/agent-card.json", a2a.New, notYet},
		{bus.DoorMCP, []string{"/mcp"}, "/mcp", "agents as tools, for clients of MCP", mcp.Handler, notYet},
		{bus.DoorOpenAI, openai.Paths(), "/v1", "agents as models, for clients of OpenAI's API", openai.New, openai.Starting},
	}
}

// notYet is how a door without errors of its own says that the host starts or stops.
func notYet(w http.ResponseWriter, reason string) {
	w.Header().Set("Retry-After", "2")
	answer(w, http.StatusServiceUnavailable, map[string]any{"error": reason})
}

// throughDoors serves the doors once the host has NATS, until it stops: what came then would be
// stored, and its answer be cut off by the end of the host.
func (h *Host) throughDoors(d httpDoor) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open := h.doors.Load()
		if stops := *h.state.Load() == stateStopping && r.Method == http.MethodPost; stops || open == nil {
			d.starting(w, "the host is "+*h.state.Load()+"; try again")
			return
		}
		open.ServeHTTP(w, r)
	})
}

// openDoors makes the doors, but for that to NATS, which is a part, and returns what they run.
func (a *assembly) openDoors() (list []func(context.Context) error) {
	a.natsDesk = a.newDesk(bus.DoorNATS)
	open := http.NewServeMux()
	for _, d := range httpDoors() {
		desk := a.newDesk(d.name)
		handler := d.make(doors.Parts{Desk: desk, Auth: a.httpAuth, Agents: func() []doors.Agent { return a.agentsOf(d.name) }, Log: a.log, Version: a.opt.Version})
		for _, path := range d.paths {
			open.Handle(path, handler)
		}
		list = append(list, desk.Run)
		if r, ok := handler.(doors.Runner); ok {
			list = append(list, r.Run)
		}
	}
	a.doors.Store(open)
	return list
}

func (a *assembly) newDesk(door string) *doors.Desk {
	desk := doors.NewDesk(client.New(a.bus.NC, a.bus.JS, client.Options{}), door, a.log)
	a.desks = append(a.desks, desk)
	return desk
}

// awaitAnswers waits for what other hosts answer to those who asked at the doors of this one,
// until work ends, or no answer can come: the connection is closed for good, or no other host lives
// any more, as where all stop at once.
func (a *assembly) awaitAnswers(work context.Context) {
	open := 0
	for _, desk := range a.desks {
		open += desk.Open()
	}
	if open == 0 || !a.fleet.Followed() {
		return
	}
	a.log.Info().Int("requests", open).Msg("stopping; the answers to requests at the doors come from other hosts, and are waited for until the grace is over")
	ctx, end := context.WithCancel(work)
	defer end()
	closed := func(ctx context.Context) error {
		select {
		case <-a.bus.Closed():
			end()
		case <-ctx.Done():
		}
		return nil
	}
	alone := func(ctx context.Context) error {
		a.fleet.Alone(ctx)
		end()
		return nil
	}
	defer background(ctx, closed, alone)()
	for _, desk := range a.desks {
		desk.Idle(ctx)
	}
}

// agentsOf are those that a door leads to.
func (h *Host) agentsOf(door string) []doors.Agent {
	list := []doors.Agent{}
	for _, a := range h.now.Load().Config.Agents {
		if a.ShadowOf == "" && (a.Doors == nil || slices.Contains(a.Doors, door)) {
			list = append(list, doors.Agent{ID: a.ID, Description: a.Description})
		}
	}
	return list
}

// natsDoor is the agent protocol for NATS.
type natsDoor struct {
	*assembly
	changed chan struct{} // holds one when agents have changed
}

func (a *assembly) newNATSDoor() natsDoor { return natsDoor{a, make(chan struct{}, 1)} }

func (natsDoor) Sections() []string                           { return nil }
func (natsDoor) Diff(*config.Config, *config.Config) []change { return nil }

// Apply has Run serve the agents of the configuration that is in force now.
func (d natsDoor) Apply(context.Context, *build.Setup) error {
	select {
	case d.changed <- struct{}{}:
	default: // it looks already
	}
	return nil
}

// Run serves the agents until ctx ends.
func (d natsDoor) Run(ctx context.Context) error {
	server := agentprotocol.New(agentprotocol.Options{
		Desk: d.natsDesk, Files: filestore.New(d.bus.JS), Owner: d.opt.Config.NATS.Owner, Version: d.opt.Version,
		Agents: func() []doors.Agent { return d.agentsOf(bus.DoorNATS) }, Changed: d.changed, Stopping: d.over, Log: d.log,
	})
	defer background(ctx, d.natsDesk.Run)()
	return server.Run(ctx)
}
