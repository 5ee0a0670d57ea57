package doors

import (
	"context"
	"net/http"
	"slices"

	"agenthost/internal/httpauth"

	"github.com/rs/zerolog"
)

// Parts are what a door over HTTP is made of.
type Parts struct {
	Desk *Desk
	Auth *httpauth.Auth
	// Agents are those that this host serves and the door leads to.
	Agents func() []Agent
	Log    zerolog.Logger
	// Version is that of the host.
	Version string
}

// A Runner is a handler that has something to do besides its requests.
type Runner interface {
	// Run blocks until ctx ends, and ends what requests have begun.
	Run(ctx context.Context) error
}

// A Visit is a request with the right to talk to agents: which of them it reaches,
// and the instance of its messages.
type Visit struct {
	Instance string
	Agents   []Agent

	caller httpauth.Caller
}

// Visit admits a request.
func (p Parts) Visit(r *http.Request) (Visit, *httpauth.Refusal) {
	caller, no := p.Auth.Admit(r, httpauth.Chat)
	if no != nil {
		return Visit{}, no
	}
	v := Visit{caller: caller}
	if !caller.Open && caller.Name != httpauth.Operator {
		v.Instance = caller.Name
	}
	v.Agents = p.AgentsOf(v)
	return v, nil
}

// AgentsOf are the agents that a visit reaches by now: they come and go by a reload.
func (p Parts) AgentsOf(v Visit) (list []Agent) {
	for _, a := range p.Agents() {
		if v.caller.Reaches(a.ID) {
			list = append(list, a)
		}
	}
	return list
}

// Has reports whether the visit reaches an agent.
func (v Visit) Has(agent string) bool {
	return slices.ContainsFunc(v.Agents, func(a Agent) bool { return a.ID == agent })
}
