package heartbeat

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// adoptAll brings the bucket in step with the configuration, however often it
// has to try; false when ctx ended first.
func (k *Keeper) adoptAll(ctx context.Context) bool {
	for {
		within, cancel := context.WithTimeout(ctx, 3*keepWithin)
		err := k.adopt(within)
		cancel()
		if err == nil || ctx.Err() != nil {
			return err == nil
		}
		k.Log.Warn().Err(err).Msg("sync schedules with the configuration: failed; retrying")
		select {
		case <-ctx.Done():
		case <-time.After(tryAgain):
		}
	}
}

func (k *Keeper) adopt(ctx context.Context) error {
	have, err := readEntries(ctx, k.JS, ">")
	if err != nil {
		return err
	}
	kv, err := k.JS.KeyValue(ctx, bus.SchedulesBucket)
	if err != nil {
		return err
	}
	now, err := k.clock.now(ctx)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for agent, schedules := range k.Schedules {
		for _, s := range schedules {
			e := s.entry(agent, now)
			wanted[e.Key()] = true
			if err := k.adoptOne(ctx, kv, e, have[e.Key()]); err != nil {
				return err
			}
		}
	}
	for key, old := range have {
		if old.Source == FromConfig && !wanted[key] {
			k.Log.Info().Str("agent", old.Agent).Str("schedule", old.Name).Msg("delete schedule: not configured any more")
			if err := drop(ctx, k.JS, kv, old.Entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// adoptAgain writes a schedule of the configuration again that was deleted by hand, at the revision
// that says so, however often it has to try. Where another host was quicker, or purged it because
// its configuration has it no more, nothing is written.
func (k *Keeper) adoptAgain(ctx context.Context, key string, deleted uint64) {
	agent, name, _ := strings.Cut(key, ".")
	i := slices.IndexFunc(k.Schedules[agent], func(s Schedule) bool { return s.Name == name })
	if i < 0 {
		return
	}
	log := k.Log.With().Str("agent", agent).Str("schedule", name).Logger()
	for {
		within, cancel := context.WithTimeout(ctx, keepWithin)
		wrote, err := k.adoptDeleted(within, agent, k.Schedules[agent][i], deleted)
		cancel()
		switch {
		case wrote:
			log.Warn().Msg("the schedule was deleted from the bucket and stands in the configuration: this host has put it back; take it out there")
			return
		case err == nil || ctx.Err() != nil:
			return
		}
		log.Warn().Err(err).Msg("write a schedule again that was deleted: failed; retrying")
		select {
		case <-ctx.Done():
			return
		case <-time.After(tryAgain):
		}
	}
}

func (k *Keeper) adoptDeleted(ctx context.Context, agent string, s Schedule, deleted uint64) (wrote bool, err error) {
	kv, err := k.JS.KeyValue(ctx, bus.SchedulesBucket)
	if err != nil {
		return false, err
	}
	now, err := k.clock.now(ctx)
	if err != nil {
		return false, err
	}
	e, more, err := s.entry(agent, now).after(now)
	if err != nil || !more {
		return false, err
	}
	return k.write(ctx, kv, e, deleted)
}

// entry is a schedule of the configuration as the bucket keeps it.
func (s Schedule) entry(agent string, now time.Time) Entry {
	e := Entry{
		Agent: agent, Name: s.Name, Source: FromConfig, Spec: s.Spec, Prompt: s.Prompt, Origin: s.To.origin(agent),
		MadeAt: now.UTC(),
	}
	if s.Missed == MissedSkip {
		e.Missed = MissedSkip
	}
	return e
}

// adoptOne writes a schedule down, unless it stands there as it is. With the
// same times it keeps its place in them, so that a firing that was missed is
// made up for.
func (k *Keeper) adoptOne(ctx context.Context, kv jetstream.KeyValue, e Entry, old kept) error {
	same := old.revision != 0 && old.Spec == e.Spec
	if same {
		e.MadeAt, e.Next = old.MadeAt, old.Next
		if reflect.DeepEqual(old.Entry, e) {
			return nil
		}
	} else {
		next, more, err := e.after(e.MadeAt)
		if err != nil {
			return err
		}
		if !more {
			k.Log.Info().Str("agent", e.Agent).Str("schedule", e.Name).Str("at", e.Spec.At).Msg("the time of this schedule is past")
			if old.revision == 0 {
				return nil
			}
			return drop(ctx, k.JS, kv, e)
		}
		e = next
	}
	_, err := k.write(ctx, kv, e, old.revision)
	return err
}

// write writes an entry in the place of a revision. wrote is false where that is not the last any
// more; what the bucket has lost by then is put back, which putBack reports itself.
func (k *Keeper) write(ctx context.Context, kv jetstream.KeyValue, e Entry, revision uint64) (wrote bool, err error) {
	err = putEntry(ctx, kv, e, revision)
	if records.Overtaken(err) {
		return false, k.putBack(ctx, kv, e)
	}
	return err == nil, err
}
