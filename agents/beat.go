package agents

import (
	"context"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"
)

// heartbeatKey is the session of the runs that heartbeats begin.
const heartbeatKey = session.Key("schedule/heartbeat")

// late is how late a firing may be that is not to be made up for.
const late = time.Minute

// timely decides whether a firing is to become a run; of anything else that is not
// the question.
func (r *Runtime) timely(it *item) bool {
	route := it.origin.route
	if route == nil || route.Due.IsZero() || route.Kind != bus.RouteSchedule {
		return true
	}
	if route.Missed != "skip" || it.tried || time.Since(route.Due) <= late {
		return true
	}
	r.log().Info().Str("schedule", route.From).Time("due", route.Due).Msg("a missed firing is left out")
	return false
}

// isTick reports whether it is a heartbeat tick, which may or may not begin a run.
func (it *item) isTick() bool {
	route := it.origin.route
	return route != nil && route.Kind == bus.RouteHeartbeat && !route.Due.IsZero()
}

// beat asks what a tick comes to, which may take seconds. One of which that cannot
// be told is left out: the next is not far.
func (r *Runtime) beat(it *item) bool {
	due := it.origin.route.Due
	first, begins, err := r.parts.Beat(r.work, r.id, due, it.tried, r.beating())
	if err != nil {
		r.log().Warn().Err(err).Msg("what a heartbeat comes to cannot be decided; it is left out")
		return false
	}
	if first && r.parts.OnHeartbeat != nil {
		r.busy.Go(func() { r.parts.OnHeartbeat(r.work, r.id, due) })
	}
	if b := r.now().behavior; first && b != nil {
		r.busy.Go(func() { r.onHeartbeat(b, due) })
	}
	return begins
}

// beating reports whether the run of an earlier tick is not over.
func (r *Runtime) beating() bool {
	entry, ok := r.sessions.Get(heartbeatKey)
	if !ok {
		return false
	}
	c := entry.Value
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.running || len(c.queue) > 0
}

// quiet reports whether a reply is not worth telling: a heartbeat that has
// nothing to say, or that failed, which the next makes up for.
func (o origin) quiet(reply *run.Reply) bool {
	if o.route == nil || o.route.Kind != bus.RouteHeartbeat || asks(reply.Kind) {
		return false
	}
	text := strings.TrimSpace(reply.Text)
	return reply.Error != nil || text == "" || text == run.Nothing
}

// superseded reports whether a later firing of the same schedule is in the same
// run: then the model is told once.
func (t *runner) superseded(i int) bool {
	route := t.items[i].origin.route
	if route == nil || route.Kind != bus.RouteSchedule {
		return false
	}
	for _, later := range t.items[i+1:] {
		if r := later.origin.route; r != nil && r.Kind == route.Kind && r.From == route.From {
			return true
		}
	}
	return false
}

// remindWord begins the chat command for reminders.
const remindWord = "/remind"

// reminding reports whether a person's message is that command, and what
// follows the word.
func (r *Runtime) reminding(in *bus.Inbound) (rest string, ok bool) {
	if in == nil || r.parts.Remind == nil {
		return "", false
	}
	if order(in) != remindWord {
		return "", false
	}
	text := strings.TrimSpace(in.Text)
	return strings.TrimPrefix(text, strings.Fields(text)[0]), true
}

// command carries out a chat command. The signal answers in place of the model;
// nil when the message is none.
func (t *runner) command(ctx context.Context, o origin, id string) *run.Signal {
	rest, ok := t.c.r.reminding(o.inbound)
	if !ok {
		return nil
	}
	text := notRun
	if !t.c.r.shadow() {
		text = t.c.r.parts.Remind(ctx, t.p.texts, id, sender(o.inbound), *t.person(), rest)
	}
	answer := llm.Message{Role: llm.Assistant, Parts: []llm.Part{{Type: llm.Text, Text: text}}}
	return &run.Signal{Kind: run.StreamEnd, At: time.Now(), Run: t.id, Message: &answer}
}

// chat is where the person is, as tools are told.
func (t *runner) chat() tools.Chat {
	p := t.person()
	if p == nil || p.Agent != t.c.r.id {
		return tools.Chat{}
	}
	return tools.Chat{Session: p.Session, Subject: p.Subject, To: p.To, Chat: p.Chat, Thread: p.Thread}
}
