package streams

import (
	"context"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// watchEvery is how often a Watch looks. It costs a request for each stream and bucket.
const watchEvery = time.Minute

// A Watch notices what an operator of NATS changes of the streams and buckets while hosts run. What hosts
// need it sets again, as Provision does; the rest it reports.
type Watch struct {
	JS       jetstream.JetStream
	Replicas int
	Log      zerolog.Logger

	known map[string]string // what was foreign in each of them at the last look
}

// Run looks until ctx ends. What is foreign at the first look Provision has reported.
func (w *Watch) Run(ctx context.Context) error {
	w.known = map[string]string{}
	for ctx.Err() == nil {
		w.look(ctx)
		bus.Pause(ctx, watchEvery)
	}
	return ctx.Err()
}

func (w *Watch) look(ctx context.Context) {
	for _, want := range append(streamConfigs(max(w.Replicas, 1)), bucketStreams(max(w.Replicas, 1))...) {
		within, cancel := context.WithTimeout(ctx, bus.APITimeout)
		stream, err := w.JS.Stream(within, want.Name)
		if err == nil { // what is away, or gone, is noticed where it is used
			w.compare(within, stream.CachedInfo().Config, want)
		}
		cancel()
	}
}

func (w *Watch) compare(ctx context.Context, have, want jetstream.StreamConfig) {
	log := w.Log.With().Str("stream", want.Name).Logger()
	foreign := inWords(foreignSettings(have, want))
	before, seen := w.known[want.Name]
	w.known[want.Name] = foreign
	switch {
	case !seen || foreign == before:
	case foreign == "":
		log.Info().Msg("stream has the settings of hosts again")
	default:
		log.Warn().Str("settings", foreign).Msg("stream was changed while hosts run; if that is not intended, change it back with the nats command")
		warnOfLoss(have, want, w.Log)
	}
	wider, changed := widen(have, want)
	if !changed || checkUsable(have) != nil {
		return
	}
	lacked := inWords(lacking(have, want))
	if _, err := w.JS.UpdateStream(ctx, wider); err != nil {
		log.Warn().Err(err).Str("lacked", lacked).Msg("stream was changed while hosts run, and lacks what they need: setting it again failed; retrying")
		return
	}
	log.Warn().Str("lacked", lacked).Msg("stream was changed while hosts run, and lacked what they need: this host has set it again")
}
