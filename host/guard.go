package host

import (
	"agenthost/bus"

	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"
)

// A guardedGroup serves only requests whose answer the host may publish where they
// want it. The answer goes out with the rights of the host: on agent.route.bank it
// would be the host's word. A message without a reply subject is no request: it may be
// such an answer, from a host that does not look.
type guardedGroup struct {
	micro.Group
	log zerolog.Logger
}

func (g guardedGroup) AddEndpoint(name string, handler micro.Handler, opts ...micro.EndpointOpt) error {
	return g.Group.AddEndpoint(name, micro.HandlerFunc(func(req micro.Request) {
		if !bus.Publishable(req.Reply()) {
			g.log.Warn().Str("subject", req.Subject()).Str("reply", req.Reply()).
				Msg("refuse request: its answer cannot go to its reply subject")
			return
		}
		handler.Handle(req)
	}), opts...)
}
