package control

import (
	"cmp"
	"context"

	"agenthost/bus"
	"agenthost/client"

	"github.com/nats-io/nats.go/micro"
)

// The doors by which operations are asked for, as the audit log names them.
const (
	DoorAPI  = bus.DoorAPI
	DoorNATS = bus.DoorNATS
)

// A Caller is who asks for an operation. The zero Caller is a program on NATS, which
// may do all that NATS lets it.
type Caller struct {
	Name string // empty: not known
	Door string
	// Reaches reports whether the caller may see an agent; nil: all of them.
	Reaches func(agent string) bool

	request string // names the request on NATS, the same for all hosts
}

// callerOn is who has made a request on NATS. A client of this program says by which
// door it stands, and for whom: who may ask for operations may do all of them.
func callerOn(req micro.Request) Caller {
	c := Caller{Name: req.Headers().Get(client.ByHeader), request: req.Reply()}
	if c.Door = req.Headers().Get(client.DoorHeader); c.Door != bus.DoorCLI && c.Door != bus.DoorAPI {
		c.Door = bus.DoorNATS
	}
	return c
}

type callerKey struct{}

// WithCaller is ctx with who asks.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

func callerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// limited reports whether the caller may see some of the agents only.
func (c Caller) limited() bool { return c.Reaches != nil }

func (c Caller) reaches(agent string) bool { return c.Reaches == nil || c.Reaches(agent) }

// by is who does something: over HTTP who the door knows, on NATS who the request names,
// and else who the client says it is.
func (c Caller) by(named string) string {
	if named == client.ServiceName { // the default of a request without a name
		named = ""
	}
	if c.Door == bus.DoorAPI {
		return cmp.Or(c.Name, named, client.ServiceName)
	}
	return cmp.Or(named, c.Name, client.ServiceName)
}

// door is by which way the caller came, for what keeps it.
func (c Caller) door() string {
	if c.Door == "" {
		return DoorNATS
	}
	return c.Door
}

// seen are those of a list whose agent the caller of ctx may see.
func seen[T any](ctx context.Context, list []T, agent func(T) string) []T {
	c := callerOf(ctx)
	kept := []T{}
	for _, one := range list {
		if c.reaches(agent(one)) {
			kept = append(kept, one)
		}
	}
	return kept
}

// reach refuses an agent that the caller of ctx may not see, as if there were none.
func reach(ctx context.Context, agent string) error {
	if callerOf(ctx).reaches(agent) {
		return nil
	}
	return coded(client.CodeNotFound, "there is no agent %q", agent)
}

// errWhole is told to callers with some of the agents.
var errWhole = coded(client.CodeForbidden, "this concerns all agents, and the token is for some of them; use one without agents")

// byAgent is one agent, or all.
type byAgent struct {
	Agent string `json:"agent,omitempty" doc:"only of this agent"`
}

func (a byAgent) keeps(agent string) bool { return a.Agent == "" || a.Agent == agent }
