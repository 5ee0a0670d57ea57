package heartbeat

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A Count is what became of the ticks of an agent, in the whole fleet and for
// all time.
type Count struct {
	Beats int64 `json:"beats"` // ticks that reached the agent
	Calls int64 `json:"calls"` // those that became a run
}

// A pulseRecord is kept in the bucket AGENT_HEARTBEATS, by agent. It is not in
// the session's log, because most ticks leave no trace there: that is their
// point.
type pulseRecord struct {
	Count
	Due  time.Time         `json:"due"`           // the last tick that was looked at
	Ran  time.Time         `json:"ran,omitzero"`  // the last that became a run
	Seen map[string]uint64 `json:"seen,omitzero"` // what was watched, and how far it was then
}

// Beats decides what the ticks of this host's agents come to, and counts them.
type Beats struct {
	js     jetstream.JetStream
	reader *records.Reader
	log    zerolog.Logger
	clock  clock
	agents map[string]Config // those with a heartbeat

	mu     sync.Mutex
	counts map[string]Count
}

// NewBeats makes the Beats of agents with a heartbeat.
func NewBeats(js jetstream.JetStream, targets []Target, log zerolog.Logger) *Beats {
	b := &Beats{js: js, clock: clock{js: js}, reader: records.NewReader(js), log: log, agents: map[string]Config{}, counts: map[string]Count{}}
	for _, p := range targets {
		b.agents[p.Agent] = p.Config
	}
	return b
}

// beatWithin bounds what a decision takes.
const beatWithin = 5 * time.Second

// Decide reports whether a tick starts a run. first reports whether this host saw
// the tick first, which is true once for one host of the fleet. run is repeated for
// a tick that is delivered again, until a later one has started a run. again says
// that the tick may have been delivered before, busy that the run of an earlier one
// is still in progress.
func (b *Beats) Decide(ctx context.Context, agent string, due time.Time, again, busy bool) (first, run bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, beatWithin)
	defer cancel()
	kv, err := b.js.KeyValue(ctx, bus.HeartbeatsBucket)
	if err != nil {
		return false, false, fmt.Errorf("look at a heartbeat: %w", err)
	}
	for {
		rec, revision, err := b.readPulse(ctx, agent)
		if err != nil {
			return false, false, err
		}
		if !due.After(rec.Due) && !b.misdated(ctx, rec.Due, due) {
			return false, again && due.Equal(rec.Ran), nil
		}
		if run, err = b.note(ctx, agent, &rec, due, busy); err != nil {
			return false, false, err
		}
		err = writePulse(ctx, kv, agent, rec, revision)
		if errors.Is(err, errOvertaken) {
			continue
		}
		return err == nil, run, err
	}
}

// misdated reports whether the last tick is of a time to come, by more than clocks differ, and
// due is not: a clock was ahead then, and is right now.
func (b *Beats) misdated(ctx context.Context, last, due time.Time) bool {
	if last.Sub(due) < late {
		return false
	}
	now, err := b.clock.now(ctx)
	return err == nil && last.Sub(now) >= late && due.Sub(now) < late
}

// note puts a tick into the record.
func (b *Beats) note(ctx context.Context, agent string, rec *pulseRecord, due time.Time, busy bool) (run bool, err error) {
	cfg := b.agents[agent]
	rec.Due = due
	rec.Beats++
	if cfg.Prompt == "" || busy {
		return false, nil
	}
	if len(cfg.Watch) > 0 {
		seen, err := b.look(ctx, cfg.Watch)
		if err != nil {
			return false, err
		}
		before := rec.Seen
		rec.Seen = seen
		if before != nil && !moved(before, seen) {
			return false, nil
		}
	}
	rec.Ran = due
	rec.Calls++
	return true, nil
}

// Now is the time by the clock of NATS, as far as this host knows: see clock.
func (b *Beats) Now() time.Time { return b.clock.soon() }

// Run follows the counts and the clock of NATS until ctx ends.
func (b *Beats) Run(ctx context.Context) error {
	var reading sync.WaitGroup
	defer reading.Wait()
	reading.Go(func() { b.clock.follow(ctx, nil) })
	if len(b.agents) == 0 {
		<-ctx.Done()
		return nil
	}
	records.Follow(ctx, b.js, bus.HeartbeatsBucket, b.log, func(entry jetstream.KeyValueEntry) {
		rec := pulseRecord{}
		if err := json.Unmarshal(entry.Value(), &rec); err == nil {
			b.mu.Lock()
			b.counts[entry.Key()] = rec.Count
			b.mu.Unlock()
		}
	}, nil)
	return nil
}

// Count is what became of the ticks of an agent; ok is false for one that has
// had none.
func (b *Beats) Count(agent string) (c Count, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	c, ok = b.counts[agent]
	return c, ok
}

// errOvertaken is the error when another host has decided first.
var errOvertaken = errors.New("another host has looked at this tick")

func (b *Beats) readPulse(ctx context.Context, agent string) (rec pulseRecord, revision uint64, err error) {
	entry, err := b.reader.Entry(ctx, bus.HeartbeatsBucket, agent)
	if errors.Is(err, records.ErrNotFound) {
		return rec, 0, nil
	}
	if err != nil {
		return rec, 0, fmt.Errorf("look at a heartbeat: %w", err)
	}
	if err := json.Unmarshal(entry.Data, &rec); err != nil { // no host has written it
		b.log.Warn().Err(err).Str("agent", agent).Str("bucket", bus.HeartbeatsBucket).Msg("read the counts of heartbeats: failed; they start again at 0")
		rec = pulseRecord{}
	}
	return rec, entry.Seq, nil
}

func writePulse(ctx context.Context, kv jetstream.KeyValue, agent string, rec pulseRecord, revision uint64) error {
	data, err := json.Marshal(rec)
	if err == nil {
		_, err = records.Replace(ctx, kv, agent, data, revision)
	}
	if records.Overtaken(err) {
		return errOvertaken
	}
	if err != nil {
		return fmt.Errorf("note a heartbeat: %w", err)
	}
	return nil
}
