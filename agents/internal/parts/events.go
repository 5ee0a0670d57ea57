package parts

import (
	"maps"
	"time"

	"agenthost/bus"
)

// Event tells watchers, on agent.events.<agent>.<kind>, what happened.
func (p *Parts) Event(agent, kind string, fields map[string]any) { p.EventOf(nil, agent, kind, fields) }

// EventOf is event for what happened because of a message that came through
// chain.
func (p *Parts) EventOf(chain []string, agent, kind string, fields map[string]any) {
	body := map[string]any{"agent": agent, "host": p.Host, "kind": kind, "at": time.Now().UTC()}
	maps.Copy(body, fields)
	msg, err := bus.NewMessage(bus.EventsPrefix+agent+"."+kind, body)
	if err != nil {
		p.Log.Error().Err(err).Str("kind", kind).Msg("encode event")
		return
	}
	bus.SetChain(msg.Header, chain)
	p.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		if err != nil {
			p.Log.Debug().Err(err).Str("kind", kind).Msg("publish event")
		}
	})
}

// Reloaded tells watchers what came of reading the configuration again for an
// agent.
func (p *Parts) Reloaded(agent string, fields map[string]any) { p.Event(agent, "reload", fields) }
