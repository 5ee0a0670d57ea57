package erase

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/internal/erasure"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A found session is one that was looked at.
type found struct {
	agent, sid    string
	key           session.Key
	mine, others  int             // messages
	mineRuns      map[string]bool // begun by the person alone
	joined        map[string]bool // runs in which others have written by now
	tasks         []task
	texts         []string               // of the person
	before        map[string]bus.Inbound // by run: a message of the person that says what was said before
	remembered    []call
	log, snapshot bool
	mentions      bool // the person, though they have written nothing in it
}

// A task is what was delegated in a session.
type task struct{ run, to, from, id string }

func (f *found) name() string { return f.agent + "." + f.sid }

// own reports whether the person alone has a part in the session.
func (e *eraser) own(f *found) bool {
	return e.r.person.Owns(f.key) || e.r.keys[f.key] && e.r.ids[f.name()] || strings.Contains(string(f.key), "/dm/") && f.mine > 0 && f.others == 0
}

// findSessions looks through all sessions, and notes what the person has said.
func (e *eraser) findSessions(ctx context.Context) (map[string]*found, error) {
	all := map[string]*found{}
	of := func(subject, prefix string) *found {
		agent, sid, _ := strings.Cut(strings.TrimPrefix(subject, prefix), ".")
		f := all[agent+"."+sid]
		if f == nil {
			f = &found{agent: agent, sid: sid, mineRuns: map[string]bool{}, joined: map[string]bool{}, before: map[string]bus.Inbound{}}
			all[agent+"."+sid] = f
		}
		return f
	}
	err := e.commits(ctx, func(subject string, key session.Key, facts []session.Fact) {
		f := of(subject, "agent.session.")
		if f.log = true; key != "" {
			f.key = key
		}
		for i := range facts {
			e.look(f, facts[i].Of, &facts[i].Event)
		}
	})
	if err != nil {
		return nil, err
	}
	for rec, err := range e.tail(ctx, bus.SessionsStream, "agent.snapshot."+e.agents()+".*") {
		if err != nil {
			return nil, err
		}
		f := of(rec.Subject, "agent.snapshot.")
		f.snapshot = true
		head := struct{ Key session.Key }{}
		if json.Unmarshal(rec.Data, &head) == nil && f.key == "" {
			f.key = head.Key
		}
	}
	e.ownAll(all)
	e.findNotesOfShared(all)
	return all, nil
}

// commits hands out what the logs of all sessions have.
func (e *eraser) commits(ctx context.Context, take func(subject string, key session.Key, facts []session.Fact)) error {
	for rec, err := range e.tail(ctx, bus.SessionsStream, "agent.session."+e.agents()+".*") {
		if err != nil {
			return err
		}
		key, facts, err := e.archive.Decode(ctx, rec)
		if err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) { // one that is being erased may lack its objects
			return err
		}
		take(rec.Subject, key, facts)
	}
	return nil
}

// findShared looks for what others have said in the same words as the person: that is no
// quote, and stays where they are.
func (e *eraser) findShared(ctx context.Context) error {
	if len(e.r.quotes.known) == 0 {
		return nil
	}
	hear := func(place string, env bus.Inbound) {
		if place != "" && env.From != Erased && !e.r.person.Wrote(place, env.From) {
			e.r.quotes.share(env.Text)
		}
	}
	err := e.commits(ctx, func(_ string, key session.Key, facts []session.Fact) {
		if e.r.keys[key] { // others who write there, such as an operator, write to the person
			return
		}
		for i := range facts {
			for _, in := range inputs(&facts[i].Event) {
				env, _ := bus.ReadInbound(in.Envelope) // what it has will do
				hear(erasure.PlaceOf(in.Subject), env)
			}
		}
	})
	if err != nil {
		return err
	}
	for rec, err := range e.tail(ctx, bus.InboundStream, bus.InboundPrefix+">") {
		if err != nil {
			return err
		}
		env, _ := e.wrote(erasure.PlaceOf(rec.Subject), rec.Data)
		hear(erasure.PlaceOf(rec.Subject), env)
	}
	return nil
}

func (e *eraser) look(f *found, of string, event *run.Event) {
	mine := 0
	in := inputs(event)
	for i := range in {
		env, own := ofPerson(e.r.person, &in[i])
		switch {
		case own:
			mine++
			e.lookAtMessage(f, of, &in[i], env)
		case erasure.PlaceOf(in[i].Subject) != "" && env.From != Erased:
			f.others++
			e.lookAtOther(f, erasure.PlaceOf(in[i].Subject), env)
			f.joined[cmp.Or(event.Run, of)] = true
		}
	}
	f.lookAtCall(of, event)
	if event.Type == run.Started && mine > 0 {
		f.mineRuns[event.Run] = mine == len(in)
	}
	if event.Type == run.Delegated && event.CorrelationID != "" {
		f.tasks = append(f.tasks, task{of, event.To, f.agent, event.CorrelationID})
	}
}

// ownAll notes which sessions are the person's: their conversations, and those in which
// other agents have worked on what came of them.
func (e *eraser) ownAll(all map[string]*found) {
	for again := true; again; {
		again = false
		for _, f := range all {
			if !e.own(f) || e.r.ids[f.name()] {
				continue
			}
			again = true
			e.r.keys[f.key], e.r.ids[f.name()] = true, true
			if e.r.person.Owns(f.key) {
				place, _, _ := strings.Cut(string(f.key), "/")
				if !f.key.IsChat() {
					place = erasure.Routes
				}
				e.place(place)
			}
		}
		for _, f := range all {
			for _, t := range f.tasks {
				if e.r.tasks[t.id] || !e.r.ids[f.name()] && !f.mineRuns[t.run] {
					continue
				}
				again = true
				e.r.tasks[t.id] = true
				key := session.Route(t.from, t.id)
				e.r.keys[key], e.r.ids[t.to+"."+session.SID(t.to, key)] = true, true
			}
		}
		for _, f := range all { // a task whose event is gone already
			if rest, ok := strings.CutPrefix(string(f.key), "route/"); ok && !e.r.ids[f.name()] {
				if _, id, _ := strings.Cut(rest, "/"); e.r.ownID(erasure.Unescape.Replace(id)) {
					again = true
					e.r.keys[f.key], e.r.ids[f.name()] = true, true
				}
			}
		}
	}
	for _, f := range all {
		for _, text := range f.texts {
			e.r.quotes.addText(text)
		}
	}
}

// findInbound notes what the person has written, and no session has any more, or not yet.
func (e *eraser) findInbound(ctx context.Context) error {
	for rec, err := range e.tail(ctx, bus.InboundStream, bus.InboundPrefix+">") {
		if err != nil {
			return err
		}
		if env, mine := e.wrote(erasure.PlaceOf(rec.Subject), rec.Data); mine {
			e.place(erasure.PlaceOf(rec.Subject))
			e.name(env.Name)
			e.addSaidAtDoor(erasure.PlaceOf(rec.Subject), env)
			e.addChat(erasure.PlaceOf(rec.Subject), env)
			e.r.quotes.addText(env.Text)
		}
	}
	return nil
}

// findRoutes does so for what they have sent by route.
func (e *eraser) findRoutes(ctx context.Context) error {
	for rec, err := range e.tail(ctx, bus.RoutesStream, bus.RoutePrefix+e.agents()) {
		if err != nil {
			return err
		}
		if r, mine := asked(e.r.person, rec.Data); mine {
			e.place(erasure.Routes)
			e.r.quotes.addText(r.Text)
		}
	}
	return nil
}

// asked reads what was sent by route, and reports whether it is a task or an event of the person.
func asked(p erasure.Person, data []byte) (bus.Route, bool) {
	r := bus.Route{}
	_ = bus.ReadFields(data, &r) // what it has will do
	kind := r.Kind == "" || r.Kind == bus.RouteDelegate || r.Kind == bus.RouteEvent
	return r, kind && r.From != "" && p.Asked(r.From, r.CorrelationID)
}

// wrote reads an inbound envelope, and reports whether it is the person's.
func (e *eraser) wrote(place string, data []byte) (bus.Inbound, bool) {
	env, err := bus.DecodeInbound(data)
	if err != nil {
		env = bus.Inbound{}
		if !json.Valid(data) { // who has sent it cannot be read
			return env, place != "" && e.r.person.At(place) && e.r.names.replace(string(data)) != string(data)
		}
		_ = bus.ReadFields(data, &env) // what it has will do
	}
	return env, place != "" && e.r.person.Wrote(place, env.From)
}

// place notes where the person is.
func (e *eraser) place(place string) {
	if place != "" {
		e.places[place] = true
	}
}

// name notes what the person is called.
func (e *eraser) name(name string) {
	if name != "" && name != Erased && name != e.r.person.From {
		e.names[name] = true
		e.r.names.addName(name)
	}
}

// agents is the agent that the erasure is limited to, or the wildcard for all.
func (e *eraser) agents() string { return cmp.Or(e.opt.Agent, "*") }

// tail reads what a stream has on a subject; one that does not exist has nothing.
func (e *eraser) tail(ctx context.Context, stream, subject string) func(func(records.Record, error) bool) {
	return func(yield func(records.Record, error) bool) {
		for rec, err := range e.reader.Tail(ctx, stream, subject, 1) {
			if err != nil && e.absent(ctx, stream, err) {
				return
			}
			if err != nil {
				err = fmt.Errorf("read %s: %w", stream, err)
			}
			if !yield(rec, err) {
				return
			}
		}
	}
}

// absent reports whether an error says that there is no such stream.
func (e *eraser) absent(ctx context.Context, stream string, err error) bool {
	if errors.Is(err, jetstream.ErrStreamNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
		return true
	}
	if !errors.Is(err, nats.ErrNoResponders) {
		return false
	}
	_, err = e.js.Stream(ctx, stream)
	return errors.Is(err, jetstream.ErrStreamNotFound)
}
