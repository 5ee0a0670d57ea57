package host

import (
	"context"
	"encoding/json"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/session"
	"agenthost/session/retention"
)

// sweepSessions deletes old sessions until ctx ends, or the returned function is
// called.
func (h *Host) sweepSessions(ctx context.Context, b *bus.Bus, fleet *agents.Fleet) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	sweeper := &retention.Sweeper{
		Archive: Sessions(b.JS), Busy: fleet.Busy, Log: h.log,
		Ages: h.sessionAges, Owns: fleet.Owns,
		Gone: func(agent string, key session.Key) {
			fleet.Drop(agent, key)
			data, err := json.Marshal(Deletion{Agent: agent, Key: key})
			if err == nil {
				err = b.NC.Publish(dropSubject, data)
			}
			if err != nil { // other hosts are refused their next commit
				h.log.Debug().Err(err).Str("agent", agent).Str("session", string(key)).Msg("tell hosts of a deleted session")
			}
		},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		sweeper.Run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// sessionAges are how long agents keep sessions.
func (h *Host) sessionAges() map[string]time.Duration {
	ages := map[string]time.Duration{}
	for _, a := range h.now.Load().cfg.Agents {
		if a.Retention.Sessions > 0 {
			ages[a.ID] = a.Retention.Sessions
		}
	}
	return ages
}
