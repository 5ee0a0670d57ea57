package host

import (
	"context"
	"reflect"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/internal/build"

	"github.com/nats-io/nats.go/jetstream"
)

// wakers are the heartbeats, schedules and events of agents: what wakes them
// without a message. Another configuration starts a new set of them.
type wakers struct {
	h         *Host
	js        jetstream.JetStream
	publisher *publishing.Publisher
	reader    *records.Reader
	beats     atomic.Pointer[heartbeat.Beats]
	first     *wakeSet
	cfg       *config.Config // of the last set; for Apply
	changes   chan wakeChange
}

// A wakeSet is the wakers of one configuration.
type wakeSet struct {
	pulse  *heartbeat.Pulse
	beats  *heartbeat.Beats
	keeper *heartbeat.Keeper
	events *heartbeat.Watcher
}

// A wakeChange has another set take over.
type wakeChange struct {
	ctx  context.Context // bounds the wait for the set
	set  *wakeSet
	done chan struct{}
}

// newWakers makes the wakers of cfg.
func (h *Host) newWakers(b *bus.Bus, publisher *publishing.Publisher, reader *records.Reader, cfg *config.Config) *wakers {
	w := &wakers{h: h, js: b.JS, publisher: publisher, reader: reader, cfg: cfg, changes: make(chan wakeChange)}
	w.first = w.newSet(cfg)
	w.beats.Store(w.first.beats)
	return w
}

// decide says what a tick of a heartbeat starts; see engine.Parts.
func (w *wakers) decide(ctx context.Context, agent string, due time.Time, again, busy bool) (first, run bool, err error) {
	return w.beats.Load().Decide(ctx, agent, due, again, busy)
}

// now is the time by the clock of NATS; see engine.Parts.
func (w *wakers) now() time.Time { return w.beats.Load().Now() }

func (w *wakers) newSet(cfg *config.Config) *wakeSet {
	var targets []heartbeat.Target
	schedules, events := map[string][]heartbeat.Schedule{}, map[string][]heartbeat.Event{}
	for _, a := range cfg.Agents {
		if a.Heartbeat.Enabled {
			targets = append(targets, heartbeat.Target{Agent: a.ID, Config: a.Heartbeat, Status: w.h.phaseOf(a.ID), Published: a.Behavior != ""})
		}
		if len(a.Schedules) > 0 {
			schedules[a.ID] = zoned(a)
		}
		events[a.ID] = a.Events
	}
	nc, log := w.h.Bus().NC, w.h.log
	return &wakeSet{
		pulse: &heartbeat.Pulse{
			Host: w.h.opt.Name, NC: nc, JS: w.js, Publisher: w.publisher, Targets: targets, Always: w.h.opt.OnHeartbeat != nil, Log: log,
		},
		beats:  heartbeat.NewBeats(w.js, targets, log),
		keeper: &heartbeat.Keeper{JS: w.js, Publisher: w.publisher, Reader: w.reader, Schedules: schedules, Log: log},
		events: &heartbeat.Watcher{NC: nc, JS: w.js, Publisher: w.publisher, Events: events, Log: log, Up: make(chan struct{})},
	}
}

// zoned are the schedules of an agent, each with its zone.
func zoned(a config.Agent) []heartbeat.Schedule {
	list := make([]heartbeat.Schedule, len(a.Schedules))
	for i, s := range a.Schedules {
		if s.Timezone == "" {
			s.Timezone = a.Timezone
		}
		list[i] = s
	}
	return list
}

// phaseOf returns what an agent is doing, for its heartbeat.
func (h *Host) phaseOf(agent string) func() heartbeat.Status {
	return func() heartbeat.Status {
		r := h.fleet.Load().Runtime(agent)
		if r == nil { // it is leaving
			return heartbeat.Status{Phase: heartbeat.PhaseStopping}
		}
		s := r.Status()
		v := heartbeat.Status{Sessions: s.Sessions, InFlight: s.InFlight, Queued: s.Queued, Phase: heartbeat.PhaseIdle}
		switch {
		case *h.state.Load() == stateStopping:
			v.Phase = heartbeat.PhaseStopping
		case h.now.Load().Faults[s.ID].Quarantined:
			v.Phase = heartbeat.PhaseQuarantined
		case s.Running > 0:
			v.Phase = heartbeat.PhaseWorking
		}
		return v
	}
}

// Sections implements part: the agents part claims what the wakers read.
func (w *wakers) Sections() []string { return nil }

// Diff implements part: a changed agent is a change of the agents part.
func (w *wakers) Diff(_, _ *config.Config) []change { return nil }

// Apply implements part.
func (w *wakers) Apply(ctx context.Context, next *build.Setup) error {
	old := w.cfg
	if w.cfg = next.Config; !wakesDiffer(old, next.Config) {
		return nil
	}
	c := wakeChange{ctx, w.newSet(next.Config), make(chan struct{})}
	select {
	case w.changes <- c:
		<-c.done
	case <-ctx.Done(): // the host is stopping
	}
	return nil
}

// Run implements part.
func (w *wakers) Run(ctx context.Context) error {
	stop := w.first.start(ctx)
	defer func() { stop() }() // of the last set
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case c := <-w.changes:
			w.beats.Store(c.set.beats)
			stopNext := c.set.start(ctx) // before the old set ends: what both publish is stored once
			c.set.up(c.ctx)
			stop()
			stop = stopNext
			close(c.done)
		}
	}
}

// up waits until the first set listens for events; it reports whether it does.
func (w *wakers) up(ctx context.Context) bool { return w.first.up(ctx) }

func (s *wakeSet) start(ctx context.Context) (stop func()) {
	return background(ctx, s.pulse.Run, s.beats.Run, s.keeper.Run, s.events.Run)
}

// up waits until the set listens for events; it reports whether it does.
func (s *wakeSet) up(ctx context.Context) bool {
	select {
	case <-s.events.Up:
		return true
	case <-ctx.Done():
		return false
	}
}

// wakesDiffer reports whether heartbeats, schedules or events are not the same.
func wakesDiffer(old, now *config.Config) bool {
	before, after := byID(old.Agents), byID(now.Agents)
	for _, d := range entries("agent", before, after) {
		a, b := before[d.name], after[d.name]
		if !reflect.DeepEqual(a.Heartbeat, b.Heartbeat) || !reflect.DeepEqual(a.Schedules, b.Schedules) ||
			!reflect.DeepEqual(a.Events, b.Events) || a.Timezone != b.Timezone || d.how != changed && (wakes(a) || wakes(b)) {
			return true
		}
	}
	return false
}

func wakes(a config.Agent) bool { return a.Heartbeat.Enabled || len(a.Schedules)+len(a.Events) > 0 }
