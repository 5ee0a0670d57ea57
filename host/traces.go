package host

import (
	"context"
	"iter"
	"os"

	"agenthost/bus"
	"agenthost/bus/publishing"
	"agenthost/internal/telemetry"
	"agenthost/run"
	"agenthost/session"
)

// openTraces begins traces if the environment asks for them. What is wrong with that is no
// reason not to serve: the variables may be meant for another program.
func (h *Host) openTraces(b *bus.Bus) *telemetry.Traces {
	archive := session.NewArchive(b.JS)
	traces, err := telemetry.Open(telemetry.Options{
		Getenv: os.Getenv, Host: h.opt.Name, Version: h.opt.Version, Log: h.log,
		History: func(ctx context.Context, agent, sid string) iter.Seq2[session.Fact, error] {
			return archive.History(ctx, agent, sid, 1)
		},
		Known: func(tool string) bool { return h.now.Load().Tools.Has(tool) },
	})
	if err != nil {
		h.log.Error().Err(err).Msg("traces: a variable is wrong; no traces are sent")
	}
	return traces
}

// committed hears of every commit.
func (h *Host) committed(p *publishing.Publisher) func(string, session.Key, string, uint64, uint64, []run.Event) {
	audited := h.auditOf(p)
	return func(subject string, key session.Key, of string, after, seq uint64, events []run.Event) {
		audited(subject, key, of, seq, events)
		h.traces.Committed(subject, of, after, seq, events)
	}
}
