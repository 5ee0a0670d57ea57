package simulation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/heartbeat"
	"agenthost/internal/simulation/memnats"
	"agenthost/tools"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// scheduleKeys begins the subjects of schedules and reminders.
const scheduleKeys = "$KV." + bus.SchedulesBucket + "."

// beatEvery is the interval of a heartbeat: there is time to come to rest in between.
const beatEvery = 15 * time.Second

// timers are what is known of times at which agents are woken.
type timers struct {
	mu      sync.Mutex       // guards beats
	entries map[string]entry // schedules and reminders that were written down, by subject
	beats   map[string]int   // how often hosts heard that a tick is theirs to look at
}

// An entry is a schedule or a reminder.
type entry struct {
	heartbeat.Entry
	gone  bool // it was deleted, as it does not fire any more
	lives int  // how often it was made: a call that runs again makes one again that has fired
}

// scheduled notes what becomes of a schedule or a reminder.
func (w *world) scheduled(m *memnats.Message) {
	e := w.timers.entries[m.Subject]
	if err := json.Unmarshal(m.Data, &e.Entry); err != nil {
		e.gone = true
	} else if e.gone || e.lives == 0 {
		e.gone = false
		e.lives++
	}
	w.timers.entries[m.Subject] = e
}

// waits reports whether the server, or a host, is to do something at its time, but for
// what repeats without an end.
func (w *world) waits() bool {
	for _, m := range w.server.Messages(bus.SchedulesStream) {
		if name, ok := strings.CutPrefix(m.Subject, bus.SchedulePrefix); ok && !w.repeats(name) {
			return true
		}
	}
	for subject, e := range w.timers.entries {
		if !e.gone && !w.repeats(strings.TrimPrefix(subject, scheduleKeys)) {
			return true
		}
	}
	return false
}

func (w *world) repeats(name string) bool {
	e, ok := w.timers.entries[scheduleKeys+name]
	return ok && e.Spec.Every > 0
}

// schedules are those of the configuration.
func (w *world) schedules() map[string][]heartbeat.Schedule {
	all := map[string][]heartbeat.Schedule{}
	for _, s := range w.plan.Schedules {
		spec := heartbeat.Spec{Every: s.Every}
		if s.Every == 0 {
			spec.At = w.began.Add(s.At).UTC().Format(time.RFC3339)
		}
		all[s.Agent] = append(all[s.Agent], heartbeat.Schedule{
			Name: s.Name, Spec: spec, Prompt: sayVerb + " " + s.Name, To: heartbeat.Address{Channel: s.Agent, To: "p0"},
		})
	}
	return all
}

// A waker is what of a host wakes its agents without a message.
type waker struct {
	keeper *heartbeat.Keeper
	pulse  *heartbeat.Pulse
	beats  *heartbeat.Beats
	remind *heartbeat.Reminders
}

// newWaker makes the waker of a host.
func (l *life) newWaker(nc *nats.Conn, js jetstream.JetStream, publisher *publishing.Publisher, reader *records.Reader) *waker {
	k := &waker{
		keeper: &heartbeat.Keeper{JS: js, Publisher: publisher, Reader: reader, Schedules: l.w.schedules(), Log: l.w.log},
		remind: &heartbeat.Reminders{JS: js},
	}
	var targets []heartbeat.Target
	if l.w.plan.Beats {
		targets = []heartbeat.Target{{
			Agent: "ana", Config: heartbeat.Config{Enabled: true, Interval: beatEvery, Prompt: sayVerb + " beat", To: heartbeat.Address{Channel: "ana", To: "p0"}},
			Status: func() heartbeat.Status { return heartbeat.Status{} },
		}}
	}
	k.pulse = &heartbeat.Pulse{Host: l.name, NC: nc, Publisher: publisher, Targets: targets, Log: l.w.log}
	k.beats = heartbeat.NewBeats(js, targets, l.w.log)
	return k
}

// jobs are the loops of the waker. A plan without times has none of them.
func (k *waker) jobs(p Plan) (jobs []func(context.Context) error) {
	if p.theme == times {
		jobs = append(jobs, k.keeper.Run)
	}
	if p.Beats {
		jobs = append(jobs, k.pulse.Run)
	}
	return jobs
}

// onHeartbeat counts how often a tick counts as the first.
func (l *life) onHeartbeat(_ context.Context, agent string, due time.Time) {
	l.w.timers.mu.Lock()
	defer l.w.timers.mu.Unlock()
	l.w.timers.beats[agent+"@"+due.String()]++
}

// remindTool makes a reminder.
func (l *life) remindTool(k *waker) tools.Tool {
	return tools.Tool{
		Name: "remind", Description: "makes a reminder", Schema: anyObject, ReadOnly: true, Rerun: true,
		Run: func(ctx context.Context, call tools.Call) (tools.Result, error) {
			args := struct{ For string }{}
			if err := json.Unmarshal(call.Args, &args); err != nil {
				return tools.Result{}, err
			}
			c := call.Chat
			_, err := k.remind.Make(ctx, heartbeat.Reminder{
				ID: call.ID, By: call.Agent, When: "in 4s", Text: sayVerb + " " + args.For,
				Chat: bus.Origin{Agent: call.Agent, Session: c.Session, Subject: c.Subject, To: c.To, Chat: c.Chat, Thread: c.Thread},
			})
			return tools.Result{Text: "noted"}, err
		},
	}
}

// untimely holds what was due against what was written down: at one time, which none
// misses, or as often as a reminder was made. That a time has one run is seen in the logs.
func (w *world) untimely() (list []string) {
	seen := map[string]map[string]bool{}
	for _, m := range w.server.Messages(bus.SchedulesStream) {
		route := bus.Route{}
		agent, ok := strings.CutPrefix(m.Subject, bus.DuePrefix)
		if ok && json.Unmarshal(m.Data, &route) == nil && route.Kind == bus.RouteSchedule {
			name := agent + "." + route.From
			if seen[name] == nil {
				seen[name] = map[string]bool{}
			}
			seen[name][route.ID] = true
		}
	}
	for subject, e := range w.timers.entries {
		name := strings.TrimPrefix(subject, scheduleKeys)
		most := 1
		if strings.Contains(name, "."+heartbeat.ReminderPrefix) {
			most = e.lives
		}
		if n := len(seen[name]); e.Spec.Every == 0 && (n < 1 || n > most) {
			list = append(list, fmt.Sprintf("schedule %s, due at %s, has fired at %d times", name, e.Next, n))
		}
	}
	for tick, n := range w.timers.beats {
		if n > 1 {
			list = append(list, fmt.Sprintf("tick %s was the first %d times", tick, n))
		}
	}
	return list
}
