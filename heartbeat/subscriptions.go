package heartbeat

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/publishing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A Watcher tells agents of messages on the subjects that they subscribe to: of
// each it makes one route message of the kind event. All hosts of a fleet run
// one, and share the work.
//
// Where a stream keeps the subject, a durable consumer reads it: a message is
// acknowledged when its route message is stored, under an id that is the same
// on every host, so it is neither lost nor duplicated. Where none does, the
// hosts are a queue group of core NATS, and what is published while none of
// them runs is lost. A stream that is made, changed or deleted later is noticed.
type Watcher struct {
	NC        *nats.Conn
	JS        jetstream.JetStream
	Publisher *publishing.Publisher
	Events    map[string][]Event // by agent
	Log       zerolog.Logger
	// Up is closed when the subscriptions are made, or were tried.
	Up chan struct{}
}

// recheck is how often the streams are looked at although none has changed: an
// account may hide its advisories.
const recheck = time.Minute

// onceMore is how long after an advisory they are looked at once more: it may
// come before what it tells is to be seen.
const onceMore = 500 * time.Millisecond

// streamAdvisories announce streams that were made, changed or deleted.
const streamAdvisories = "$JS.EVENT.ADVISORY.STREAM.*.*"

// Run watches until ctx ends. What it has begun to tell by then is told by the
// Publisher, which has to outlive it.
func (w *Watcher) Run(ctx context.Context) error {
	subs := w.subscriptions()
	changed := make(chan *nats.Msg, 64)
	if advisories, err := w.NC.ChanSubscribe(streamAdvisories, changed); err == nil { // else recheck has to do
		defer func() { _ = advisories.Unsubscribe() }() // the connection may be gone
	}
	defer func() {
		for _, s := range subs {
			s.stop()
		}
	}()
	tick, again := time.NewTicker(recheck), time.NewTimer(onceMore)
	defer tick.Stop()
	defer again.Stop()
	for up, tidied := false, false; ; {
		w.settle(ctx, subs)
		if !up {
			up = true
			close(w.Up)
		}
		if !tidied {
			tidied = w.tidy(ctx, subs)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		case <-again.C:
		case <-changed:
			for len(changed) > 0 {
				<-changed
			}
			again.Reset(onceMore)
		}
	}
}

func (w *Watcher) subscriptions() []*subscription {
	var subs []*subscription
	for _, agent := range slices.Sorted(maps.Keys(w.Events)) {
		for _, e := range w.Events[agent] {
			prompt, err := ParsePrompt(e.Prompt)
			if err != nil {
				w.Log.Error().Err(err).Str("agent", agent).Str("subject", e.Subject).Msg("read the prompt of an event: failed; left out")
				continue
			}
			log := w.Log.With().Str("agent", agent).Str("subject", e.Subject).Logger()
			subs = append(subs, &subscription{w: w, agent: agent, event: e, prompt: prompt, name: e.consumer(agent), log: log, few: bus.Few(log)})
		}
	}
	return subs
}

// settle sees to it that every subscription is served from where its messages
// are now.
func (w *Watcher) settle(ctx context.Context, subs []*subscription) {
	for _, s := range subs {
		try, cancel := context.WithTimeout(ctx, 10*time.Second)
		err := s.settle(try)
		cancel()
		if err != nil && ctx.Err() == nil {
			s.log.Warn().Err(err).Msg("subscribe to events: failed; retrying")
		}
	}
}

// tidy deletes the consumers of subscriptions that the configuration has no
// more. It reports whether it came to an end.
func (w *Watcher) tidy(ctx context.Context, subs []*subscription) bool {
	kept := map[string]bool{}
	for _, s := range subs {
		kept[s.name] = true
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	streams := w.JS.StreamNames(ctx)
	for name := range streams.Name() {
		if err := w.tidyStream(ctx, name, kept); err != nil && ctx.Err() == nil {
			w.Log.Warn().Err(err).Str("stream", name).Msg("delete consumers of events that are not configured any more: failed; retrying")
			return false
		}
	}
	return streams.Err() == nil
}

func (w *Watcher) tidyStream(ctx context.Context, name string, kept map[string]bool) error {
	stream, err := w.JS.Stream(ctx, name)
	if err != nil {
		return err
	}
	consumers := stream.ConsumerNames(ctx)
	var gone []string
	for c := range consumers.Name() {
		if strings.HasPrefix(c, consumerPrefix) && !kept[c] {
			gone = append(gone, c)
		}
	}
	for _, c := range gone {
		if err := stream.DeleteConsumer(ctx, c); err != nil {
			return err
		}
		w.Log.Info().Str("stream", name).Str("consumer", c).Msg("delete consumer of events: not configured any more")
	}
	return consumers.Err()
}
