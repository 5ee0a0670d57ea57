package host

import (
	"context"
	"time"

	"agenthost/internal/control"
	"agenthost/session"
	"agenthost/session/retention"
)

// sweep deletes old sessions until ctx ends.
func (a *assembly) sweep(ctx context.Context) error {
	sweeper := &retention.Sweeper{
		Archive: session.NewArchive(a.bus.JS), Busy: a.fleet.Busy, Log: a.log,
		Ages: a.sessionAges, Owns: a.fleet.Owns, Gone: a.sessionGone,
	}
	sweeper.Run(ctx)
	return ctx.Err()
}

// sessionGone has all hosts forget a deleted session.
func (a *assembly) sessionGone(agent string, key session.Key) {
	a.fleet.Drop(agent, key)
	if err := control.NotifyDropped(a.bus.NC, session.Deletion{Agent: agent, Key: key}); err != nil { // other hosts are refused their next commit
		a.log.Debug().Err(err).Str("agent", agent).Str("session", string(key)).Msg("notify hosts of a deleted session: failed")
	}
}

// sessionAges are how long agents keep sessions.
func (h *Host) sessionAges() map[string]time.Duration {
	ages := map[string]time.Duration{}
	for _, a := range h.now.Load().Config.Agents {
		if a.Retention.Sessions > 0 {
			ages[a.ID] = a.Retention.Sessions
		}
	}
	return ages
}
