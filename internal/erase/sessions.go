package erase

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
)

// findMentions finds the sessions of others in which the person takes part, or where their
// words are.
func (e *eraser) findMentions(ctx context.Context, all map[string]*found) error {
	for name, f := range all {
		if !e.r.ids[name] && f.mine > 0 {
			e.takes[f.key], f.mentions = true, true
		}
	}
	agent := e.agents()
	first := map[string]uint64{}
	for _, prefix := range []string{"agent.session.", "agent.snapshot."} {
		for rec, err := range e.tail(ctx, bus.SessionsStream, prefix+agent+".*") {
			if err != nil {
				return err
			}
			name := strings.TrimPrefix(rec.Subject, prefix)
			f := all[name]
			if prefix == "agent.session." && first[name] == 0 {
				first[name] = rec.Seq
			}
			if f == nil || e.r.ids[name] || f.mentions {
				continue
			}
			head := struct {
				Seq    uint64
				Object string
			}{}
			_ = json.Unmarshal(rec.Data, &head) // what no host has written has neither
			data := rec.Data
			if head.Object != "" {
				if data, err = e.file(ctx, head.Object); err != nil {
					return err
				}
			}
			stale := prefix == "agent.snapshot." && head.Seq < first[name] // hosts do not read it any more
			f.mentions = stale || e.r.data(data, e.view(f.key)) != nil
		}
	}
	return nil
}

// view is how what belongs to a session is read.
func (e *eraser) view(key session.Key) view {
	place := ""
	if key.IsChat() {
		place, _, _ = strings.Cut(string(key), "/")
	}
	v := view{place: place, words: []*words{&e.r.quotes}}
	if e.takes[key] {
		v.words = append(v.words, &e.r.names)
	}
	return v
}

// nameObjects notes which objects the person's sessions, and the parts of others that are
// theirs, name.
func (e *eraser) nameObjects(ctx context.Context, all map[string]*found) error {
	for name, f := range all {
		if !e.r.ids[name] && !f.mentions {
			continue
		}
		named, err := e.archive.Named(ctx, f.agent, f.sid)
		if err != nil {
			return err
		}
		maps.Copy(e.objects, named)
	}
	return nil
}

// nameMore notes which objects a session names that has gone on since nameObjects.
func (e *eraser) nameMore(ctx context.Context, f *found) error {
	named, err := e.archive.Named(ctx, f.agent, f.sid)
	if err != nil && !errors.Is(err, session.ErrNoSession) {
		return err
	}
	maps.Copy(e.objects, named)
	return e.writeJournal(ctx)
}

func (e *eraser) sessions(ctx context.Context, all map[string]*found) error {
	for _, name := range slices.Sorted(maps.Keys(all)) {
		f := all[name]
		var err error
		switch {
		case e.r.ids[name]:
			err = e.eraseSession(ctx, f)
		case f.mentions:
			err = e.rewriteSession(ctx, f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *eraser) eraseSession(ctx context.Context, f *found) error {
	if e.opt.DryRun {
		e.countSession(f)
		return nil
	}
	if f.log {
		if err := e.stop(ctx, f, func(state run.State) bool { return state.Phase != run.InSuspense }); err != nil {
			return err
		}
		if err := e.nameMore(ctx, f); err != nil {
			return err
		}
	}
	d, err := e.archive.Erase(ctx, f.agent, f.sid)
	if e.goesOn(err) {
		return nil
	}
	if err != nil && !errors.Is(err, session.ErrNoSession) {
		return err
	}
	d.Key = f.key
	e.countSession(f)
	return e.fleet.Dropped(ctx, d)
}

func (e *eraser) countSession(f *found) {
	if f.log {
		e.add(Sessions, 1)
	}
	if f.snapshot {
		e.add(Snapshots, 1)
	}
}

// rewriteSession takes the person out of a session that is not theirs alone.
func (e *eraser) rewriteSession(ctx context.Context, f *found) error {
	if e.opt.DryRun {
		e.add(Groups, 1)
		return nil
	}
	if !f.log { // a snapshot whose log is gone
		err := e.archive.EraseSnapshot(ctx, f.agent, f.sid)
		if e.goesOn(err) {
			return nil
		}
		if err == nil {
			e.add(Snapshots, 1)
		}
		return err
	}
	theirs := func(state run.State) bool {
		return state.Run != nil && len(state.Run.Inputs) > 0 && !slices.ContainsFunc(state.Run.Inputs, func(in run.Input) bool {
			_, mine := ofPerson(e.r.person, &in)
			return !mine
		})
	}
	if err := e.stop(ctx, f, theirs); err != nil {
		return err
	}
	var edit *logEdit
	done, err := e.archive.Rewrite(ctx, f.agent, f.sid, func() session.Edit {
		edit = &logEdit{r: e.r, other: map[string]string{}, runs: f.earlier()}
		if e.takes[f.key] {
			edit.names = e.r.names
		}
		return session.Edit{Event: edit.event, Ends: edit.ends}
	})
	if errors.Is(err, session.ErrNoSession) || e.goesOn(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if done.Events > 0 {
		e.add(Groups, 1)
	}
	e.add(Snapshots, done.Snapshots)
	return e.fleet.Dropped(ctx, session.Deletion{Agent: f.agent, SID: f.sid, Key: f.key})
}

// goesOn reports whether err is that the host of a session commits to it again and again, as
// when it works off what waits there. The next pass finds the session again.
func (e *eraser) goesOn(err error) bool {
	if !errors.Is(err, session.ErrRunning) {
		return false
	}
	e.busy++
	return true
}

// stopEvery is how often a run that is to end is looked at.
const stopEvery = 50 * time.Millisecond

// stop has a host stop the run of a session if it is for this person alone, and waits for one that
// is at work. What does not end in time is refused its next commit, and so is what begins after it.
// A run that waits for an answer is not stopped: the host would go on with what waits behind it.
func (e *eraser) stop(ctx context.Context, f *found, theirs func(run.State) bool) error {
	late := time.Now().Add(stopWithin)
	for asked := ""; e.hosts && time.Now().Before(late); {
		state, _, err := e.archive.State(ctx, f.agent, f.sid)
		if err != nil || state.Run == nil || state.Phase == run.InSuspense && !theirs(state) {
			return nil //nolint:nilerr // one that cannot be read has no run that could be stopped
		}
		if theirs(state) && asked != "" && asked != state.Run.ID {
			return nil
		}
		if theirs(state) && asked == "" {
			asked = state.Run.ID
			err := e.fleet.Stop(ctx, f.agent, f.key)
			if errors.Is(err, ErrUnserved) {
				return nil
			}
			if err != nil {
				return err
			}
		}
		select {
		case <-time.After(stopEvery):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
