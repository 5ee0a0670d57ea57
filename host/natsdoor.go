package host

import (
	"context"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/client"
	"agenthost/config"
	"agenthost/doors"
	"agenthost/doors/agentprotocol"
	"agenthost/internal/build"
)

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
	desk := doors.NewDesk(client.New(d.bus.NC, d.bus.JS, client.Options{}), bus.DoorNATS, d.log)
	server := agentprotocol.New(agentprotocol.Options{
		Desk: desk, Files: filestore.New(d.bus.JS), Owner: d.opt.Config.NATS.Owner, Version: d.opt.Version,
		Agents: func() []doors.Agent { return d.agentsOf(bus.DoorNATS) }, Changed: d.changed, Stopping: d.over, Log: d.log,
	})
	defer background(ctx, desk.Run)()
	return server.Run(ctx)
}
