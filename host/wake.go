package host

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/internal/texts"
	"agenthost/tools"

	"github.com/nats-io/nats.go/jetstream"
)

// wakers are what wakes agents without a message. They begin anew with other
// settings.
type wakers struct {
	h     *Host
	js    jetstream.JetStream
	parts *agents.Parts
	beats atomic.Pointer[heartbeat.Beats]

	events *heartbeat.Watcher
	stop   func() // those that run
}

// newWakers makes them, and tells parts of them.
func (h *Host) newWakers(b *bus.Bus, parts *agents.Parts) *wakers {
	w := &wakers{h: h, js: b.JS, parts: parts}
	parts.Beat = func(ctx context.Context, agent string, due time.Time, again, busy bool) (first, run bool, err error) {
		return w.beats.Load().Decide(ctx, agent, due, again, busy)
	}
	parts.OnHeartbeat = h.opt.OnHeartbeat
	parts.Remind = func(ctx context.Context, book texts.Book, id, by string, chat bus.Origin, text string) string {
		return h.now.Load().shop.reminders.Command(ctx, book, id, by, chat, text)
	}
	return w
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

// agentStatus is what an agent is doing.
func (h *Host) agentStatus(agent string) func() heartbeat.Status {
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
		case h.now.Load().faults[s.ID].quarantined:
			v.Phase = heartbeat.PhaseQuarantined
		case s.Running > 0:
			v.Phase = heartbeat.PhaseWorking
		}
		return v
	}
}

// start runs those of a configuration, until stop is called.
func (w *wakers) start(cfg *config.Config) {
	var targets []heartbeat.Target
	schedules, events := map[string][]heartbeat.Schedule{}, map[string][]heartbeat.Event{}
	for _, a := range cfg.Agents {
		if a.Heartbeat.Enabled {
			targets = append(targets, heartbeat.Target{Agent: a.ID, Config: a.Heartbeat, Status: w.h.agentStatus(a.ID), Published: a.Behavior != ""})
		}
		if len(a.Schedules) > 0 {
			schedules[a.ID] = zoned(a)
		}
		events[a.ID] = a.Events
	}
	publisher, log := w.parts.Publisher, w.h.log
	pulse := &heartbeat.Pulse{
		Host: w.h.opt.Name, NC: w.parts.NC, Publisher: publisher, Targets: targets, Always: w.h.opt.OnHeartbeat != nil, Log: log,
	}
	beats := heartbeat.NewBeats(w.js, targets, log)
	keeper := &heartbeat.Keeper{JS: w.js, Publisher: publisher, Reader: w.parts.Reader, Schedules: schedules, Log: log}
	w.events = &heartbeat.Watcher{NC: w.parts.NC, JS: w.js, Publisher: publisher, Events: events, Log: log, Up: make(chan struct{})}
	w.beats.Store(beats)
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for _, run := range []func(context.Context) error{pulse.Run, beats.Run, keeper.Run, w.events.Run} {
		group.Go(func() { _ = run(ctx) })
	}
	w.stop = func() {
		cancel()
		group.Wait()
	}
}

// up waits until events are listened for; it reports whether they are.
func (w *wakers) up(ctx context.Context) bool {
	select {
	case <-w.events.Up:
		return true
	case <-ctx.Done():
		return false
	}
}

// remindTool is heartbeat.Reminders as the tool remind needs it.
type remindTool struct{ *heartbeat.Reminders }

func chatOf(call tools.Call) bus.Origin {
	c := call.Chat
	return bus.Origin{Agent: call.Agent, Session: c.Session, Subject: c.Subject, To: c.To, Chat: c.Chat, Thread: c.Thread}
}

func (r remindTool) Make(ctx context.Context, call tools.Call, when, zone, text string) (string, error) {
	e, err := r.Reminders.Make(ctx, heartbeat.Reminder{
		ID: call.ID, Chat: chatOf(call), By: call.Agent, When: when, Zone: zone, Text: text,
	})
	if err != nil {
		return "", err
	}
	return "noted for " + r.Told(texts.Book{}, e), nil
}

func (r remindTool) List(ctx context.Context, call tools.Call) (string, error) {
	list, err := r.Reminders.List(ctx, chatOf(call))
	if err != nil {
		return "", err
	}
	return r.Tell(texts.Book{}, list), nil
}

func (r remindTool) Cancel(ctx context.Context, call tools.Call, id string) (string, error) {
	if err := r.Reminders.Cancel(ctx, chatOf(call), id); err != nil {
		return "", err
	}
	return "cancelled", nil
}

// reminders keeps the reminders of the agents of a configuration.
func reminders(cfg *config.Config, js jetstream.JetStream) *heartbeat.Reminders {
	zones := map[string]string{}
	for _, a := range cfg.Agents {
		if a.Timezone != "" {
			zones[a.ID] = a.Timezone
		}
	}
	return &heartbeat.Reminders{JS: js, Zones: zones}
}

// A Scheduled is a schedule or a reminder.
type Scheduled = heartbeat.Entry

// AllScheduled lists what is scheduled, of all agents, what is due first in
// front.
func AllScheduled(ctx context.Context, js jetstream.JetStream) ([]Scheduled, error) {
	return heartbeat.Entries(ctx, js)
}

// CancelReminder cancels a reminder of an agent.
func CancelReminder(ctx context.Context, js jetstream.JetStream, agent, name string) error {
	return heartbeat.Cancel(ctx, js, agent, name)
}
