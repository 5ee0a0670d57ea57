package service

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// stallLimit ends a round: after the first answer, the others come at once.
const stallLimit = 200 * time.Millisecond

// mostInstances bounds what is read in a round.
const mostInstances = 10_000

// An instance is one running process of a service.
type instance struct {
	info    micro.Info
	started time.Time // zero: not known
	missed  int       // rounds without an answer
}

// ask collects the answers to one `$SRV.INFO.<name>`, by id.
func (s *Service) ask(ctx context.Context) (map[string]micro.Info, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Wait)
	defer cancel()
	subject, err := micro.ControlSubject(micro.InfoVerb, s.name, "")
	if err != nil {
		return nil, err
	}
	if !s.nc.IsConnected() {
		return nil, fmt.Errorf("ask %s: %w", subject, nats.ErrDisconnected)
	}
	inbox := s.nc.NewRespInbox()
	sub, err := s.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", subject, err)
	}
	defer func() { _ = sub.Unsubscribe() }() // of a closed connection: gone already
	if err := s.nc.PublishRequest(subject, inbox, nil); err != nil {
		return nil, fmt.Errorf("ask %s: %w", subject, err)
	}
	return collect(ctx, sub)
}

func collect(ctx context.Context, sub *nats.Subscription) (map[string]micro.Info, error) {
	answers := map[string]micro.Info{}
	more, err := hear(ctx, sub, answers)
	ctx, cancel := context.WithTimeout(ctx, stallLimit)
	defer cancel()
	for more && err == nil && len(answers) < mostInstances {
		more, err = hear(ctx, sub, answers)
	}
	return answers, err
}

// hear adds the next answer to answers; more is false when none came in time.
func hear(ctx context.Context, sub *nats.Subscription, answers map[string]micro.Info) (more bool, err error) {
	msg, err := sub.NextMsgWithContext(ctx)
	if errors.Is(err, nats.ErrNoResponders) || ctx.Err() != nil {
		return false, nil //nolint:nilerr // that no instance answers (any more) is a valid result
	}
	if err != nil {
		return false, fmt.Errorf("receive answers of instances: %w", err)
	}
	var info micro.Info
	if json.Unmarshal(msg.Data, &info) == nil && isToken(info.ID) {
		answers[info.ID] = info
	}
	return true, nil
}

// isToken reports whether an id can stand in a subject, as its statistics are asked for.
func isToken(id string) bool { return bus.Publishable(id) && !strings.Contains(id, ".") }

// seen takes note of an answer. When the instance was started is in its
// statistics alone, and asked once.
func (s *Service) seen(ctx context.Context, id string, info micro.Info) {
	i, ok := s.instances[id]
	if !ok {
		i = &instance{}
		s.instances[id] = i
	}
	i.info, i.missed = info, 0
	if !i.started.IsZero() {
		return
	}
	started, err := s.started(ctx, id)
	if err != nil {
		s.log.Debug().Err(err).Str("instance", id).Msg("service does not say when it was started")
		return
	}
	i.started = started
}

func (s *Service) started(ctx context.Context, id string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Wait)
	defer cancel()
	subject, err := micro.ControlSubject(micro.StatsVerb, s.name, id)
	if err != nil {
		return time.Time{}, err
	}
	msg, err := s.nc.RequestWithContext(ctx, subject, nil)
	if err != nil {
		return time.Time{}, fmt.Errorf("ask %s: %w", subject, err)
	}
	var stats micro.Stats
	if err := json.Unmarshal(msg.Data, &stats); err != nil {
		return time.Time{}, fmt.Errorf("read the answer to %s: %w", subject, err)
	}
	return stats.Started, nil
}

// merge is what all instances offer together, by name. Where they differ, the
// newest started counts.
func merge(instances map[string]*instance) []endpoint {
	newestFirst := slices.SortedFunc(maps.Values(instances), func(a, b *instance) int {
		return cmp.Or(b.started.Compare(a.started), cmp.Compare(a.info.ID, b.info.ID))
	})
	byName := map[string]endpoint{}
	for _, i := range newestFirst {
		for _, e := range endpointsOf(i.info) {
			if _, ok := byName[e.name]; !ok {
				byName[e.name] = e
			}
		}
	}
	return slices.SortedFunc(maps.Values(byName), func(a, b endpoint) int { return cmp.Compare(a.name, b.name) })
}
