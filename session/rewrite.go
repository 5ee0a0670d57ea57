package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
)

// An Edit is how Rewrite changes a log.
type Edit struct {
	// Event is what becomes of an event of a run, as JSON; nil: nothing is changed.
	Event func(run string, event json.RawMessage) (json.RawMessage, error)
	// Ends reports whether the unfinished run is to be stopped. Nothing is said of it.
	Ends func(run.Run) bool
}

// A Rewriting is what Rewrite has done.
type Rewriting struct {
	Agent     string
	SID       string
	Key       Key
	Events    int // that are others now
	Snapshots int // that were deleted
	Stopped   bool
}

// Rewrite changes events of a session, one commit taking the place of the whole log: an
// owner that has the session in memory is refused its next commit, and reads what is
// there now. Replies that are published lose their address, so that none goes out
// again. What was there before is overwritten, as are the snapshots; when nothing was
// to be changed, these alone if stale says so. A Rewrite that was cut off leaves a log
// that reads as before or as after, and another one ends what it has begun. A session that
// is written to all the time is ErrRunning.
func (a *Archive) Rewrite(ctx context.Context, agent, sid string, edit func() Edit) (Rewriting, error) {
	r := Rewriting{Agent: agent, SID: sid}
	var err error
	for range tries {
		if err = a.rewrite(ctx, &r, edit()); !bus.Refused(err) {
			break
		}
	}
	if bus.Refused(err) {
		err = ErrRunning
	}
	if err != nil {
		err = fmt.Errorf("rewrite session %s of %s: %w", sid, agent, err)
	}
	return r, err
}

func (a *Archive) rewrite(ctx context.Context, r *Rewriting, edit Edit) error {
	log, err := a.wholeLog(ctx, r.Agent, r.SID)
	if err != nil {
		return err
	}
	r.Key, r.Events = log.key, 0
	for i, e := range log.events {
		now, err := edit.Event(log.runs[i], e)
		if err != nil {
			return fmt.Errorf("an event of the log: %w", err)
		}
		if now != nil {
			log.events[i], r.Events = now, r.Events+1
		}
	}
	first := log.first
	if r.Events > 0 {
		if r.Stopped, err = log.end(edit.Ends); err != nil {
			return err
		}
		if err := a.unaddress(ctx, log); err != nil {
			return err
		}
		data, err := a.encode(ctx, log)
		if err != nil {
			return err
		}
		if first, err = a.replace(ctx, Subject(r.Agent, r.SID), log.last, data); err != nil {
			return err
		}
	}
	if _, err := a.overwrite(ctx, Subject(r.Agent, r.SID), first); err != nil { // also what one that was cut off has left
		return err
	}
	n, err := a.overwrite(ctx, snapshotSubject(r.Agent, r.SID), 0)
	r.Snapshots += n
	if err == nil && r.Stopped {
		err = a.ForgetWaiting(ctx, r.Agent, r.SID)
	}
	return err
}

// A whole log is all events of a session.
type wholeLog struct {
	key         Key
	first, last uint64 // sequences of the first message that counts, and of the last
	events      []json.RawMessage
	runs        []string
}

func (a *Archive) wholeLog(ctx context.Context, agent, sid string) (*wholeLog, error) {
	log := &wholeLog{}
	for rec, err := range a.store.Reader.Tail(ctx, bus.SessionsStream, Subject(agent, sid), 1) {
		if err != nil {
			return nil, err
		}
		if begins(rec) {
			log.first, log.events, log.runs = rec.Seq, nil, nil
		}
		if log.first == 0 {
			log.first = rec.Seq
		}
		log.last = rec.Seq
		facts, err := a.read(ctx, rec)
		if err != nil {
			return nil, err
		}
		if key := keyOf(rec.Data); log.key == "" {
			log.key = key
		}
		for _, f := range facts {
			log.events, log.runs = append(log.events, f.raw), append(log.runs, f.Of)
		}
	}
	if log.last == 0 {
		return nil, ErrNoSession
	}
	return log, nil
}

func (l *wholeLog) decode() ([]run.Event, error) {
	events := make([]run.Event, len(l.events))
	for i, raw := range l.events {
		if err := json.Unmarshal(raw, &events[i]); err != nil {
			return nil, fmt.Errorf("an event of the log: %w", err)
		}
	}
	return events, nil
}

// end ends the unfinished run if ends says so.
func (l *wholeLog) end(ends func(run.Run) bool) (stopped bool, err error) {
	events, err := l.decode()
	if err != nil {
		return false, err
	}
	state := fold(events)
	if state.Run == nil || !ends(*state.Run) {
		return false, nil
	}
	id := state.Run.ID
	_, effects := run.Step(state, run.Signal{Kind: run.Abort, At: time.Now().UTC(), By: "erase"}, run.Limits{})
	for _, e := range effects {
		if e.Kind != run.Commit {
			continue
		}
		for _, event := range e.Events {
			raw, err := json.Marshal(event)
			if err != nil {
				return false, err
			}
			l.events, l.runs = append(l.events, raw), append(l.runs, id)
		}
	}
	return true, nil
}

// unaddress takes the address off all replies that were published: an owner publishes those
// with an address again when a message comes again.
func (a *Archive) unaddress(ctx context.Context, l *wholeLog) error {
	events, err := l.decode()
	if err != nil {
		return err
	}
	type replies struct {
		since time.Time
		ids   []string
	}
	at := map[string]*replies{}
	for _, e := range events {
		if e.Reply == nil || !strings.HasPrefix(e.Reply.Subject, bus.OutboundPrefix) {
			continue
		}
		r := at[e.Reply.Subject]
		if r == nil {
			r = &replies{since: e.At.Add(-time.Minute)}
			at[e.Reply.Subject] = r
		}
		r.ids = append(r.ids, e.Reply.ID)
	}
	unsent := map[string]bool{}
	begin, err := a.store.Reader.Begin(ctx, bus.OutboundStream)
	if err != nil {
		return err
	}
	for subject, r := range at {
		left, err := a.store.Reader.NotStored(ctx, records.Search{Subject: subject, Since: r.since, Until: time.Now().Add(time.Hour)}, r.ids)
		if err != nil {
			return err
		}
		for id := range left {
			unsent[id] = true
		}
	}
	for i, e := range events {
		if e.Reply == nil || e.Reply.Subject == "" || unsent[e.Reply.ID] && e.At.After(begin) {
			continue
		}
		if !strings.HasPrefix(e.Reply.Subject, bus.OutboundPrefix) && time.Since(e.At) < bus.DedupeWindow {
			continue // its stream drops a second copy
		}
		if l.events[i], err = withoutAddress(l.events[i]); err != nil {
			return err
		}
	}
	return nil
}

func withoutAddress(event json.RawMessage) (json.RawMessage, error) {
	fields, reply := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if err := json.Unmarshal(event, &fields); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(fields["reply"], &reply); err != nil {
		return nil, err
	}
	delete(reply, "subject")
	var err error
	if fields["reply"], err = json.Marshal(reply); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}

// encode is the log as one commit.
func (a *Archive) encode(ctx context.Context, l *wholeLog) ([]byte, error) {
	c := struct {
		V      int               `json:"v"`
		Key    Key               `json:"key"`
		Events []json.RawMessage `json:"events,omitempty"`
		Object string            `json:"object,omitempty"`
		Of     []Span            `json:"of,omitempty"`
	}{V: version, Key: l.key, Events: l.events}
	for _, id := range l.runs {
		if n := len(c.Of); n > 0 && c.Of[n-1].Run == id {
			c.Of[n-1].Events++
		} else {
			c.Of = append(c.Of, Span{id, 1})
		}
	}
	data, err := json.Marshal(c)
	if err != nil || len(data) <= a.store.limit() {
		return data, err
	}
	if c.Object, err = a.store.putFile(ctx, l.events); err != nil {
		return nil, err
	}
	c.Events = nil
	if data, err = json.Marshal(c); err == nil && len(data) > a.store.limit() { // of very many runs: it reads without
		c.Of = nil
		data, err = json.Marshal(c)
	}
	return data, err
}
