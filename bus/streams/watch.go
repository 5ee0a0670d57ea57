package streams

import (
	"context"
	"errors"
	"strings"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// watchEvery is how often a Watch looks. It costs a request for each stream and bucket.
const watchEvery = time.Minute

// A Watch notices what an operator of NATS changes of the streams and buckets while hosts run. What hosts
// need it sets again, as Provision does; the rest it reports, and what was deleted.
type Watch struct {
	JS       jetstream.JetStream
	Replicas int
	Log      zerolog.Logger

	known map[string]string // what was foreign in each of them at the last look
	gone  map[string]bool   // those that were gone then
}

// Run looks until ctx ends. The foreign settings that it finds at the first look it does not report:
// Provision has done so when the host started.
func (w *Watch) Run(ctx context.Context) error {
	w.known, w.gone = map[string]string{}, map[string]bool{}
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
		switch {
		case err == nil:
			w.found(want.Name, true)
			w.compare(within, stream.CachedInfo().Config, want)
		case errors.Is(err, jetstream.ErrStreamNotFound):
			w.found(want.Name, false)
		} // that NATS is away is noticed where it is used
		cancel()
	}
}

// found reports a stream or bucket that is gone, once, and that it is there again. Of most, hosts say
// nothing else until they use it.
func (w *Watch) found(name string, there bool) {
	if w.gone[name] == !there {
		return
	}
	w.gone[name] = !there
	log := w.Log.With().Str(kindOf(name)).Logger()
	if there {
		log.Info().Msg("there again")
		return
	}
	log.Warn().Msg("deleted while hosts run; restore it from a backup, or restart one host, which makes it again, empty")
}

// kindOf says what people call a stream: those behind buckets are bucket and its name.
func kindOf(stream string) (kind, name string) {
	for _, prefix := range []string{bucketPrefix, filesPrefix} {
		if name, ok := strings.CutPrefix(stream, prefix); ok {
			return "bucket", name
		}
	}
	return "stream", stream
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
