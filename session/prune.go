package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
)

// A Pruning is what Prune has deleted.
type Pruning struct {
	Sessions int
	Commits  int
	Objects  int
}

// pruneBatch is how many sessions are deleted before the objects that only they
// have named: to find these, all other sessions are read.
const pruneBatch = 1000

// errKept means that a session must not be pruned.
var errKept = errors.New("the session is in use")

// Prune deletes the sessions of an agent whose last commit was made before a time,
// as Delete does. It leaves those with a run that is under way or waits, those in
// which a message waits, and those that busy reports. gone is called for each that
// was deleted.
func (a *Archive) Prune(ctx context.Context, agent string, before time.Time, busy func(Key) bool, gone func(Key)) (p Pruning, err error) {
	var old []string
	err = records.Heads(ctx, a.js, bus.SessionsStream, Subject(agent, "*"), true, func(rec records.Record) {
		if rec.Time.Before(before) {
			old = append(old, rec.Subject[strings.LastIndexByte(rec.Subject, '.')+1:])
		}
	})
	if err != nil {
		return p, fmt.Errorf("prune sessions of %s: %w", agent, err)
	}
	keep := func(state run.State, s Summary) error {
		if state.Run != nil || len(state.Waiting) > 0 || !s.At.Before(before) || busy(s.Key) {
			return errKept
		}
		return nil
	}
	for len(old) > 0 && err == nil {
		n := min(len(old), pruneBatch)
		err = a.pruneAll(ctx, agent, old[:n], keep, gone, &p)
		old = old[n:]
	}
	if err != nil {
		err = fmt.Errorf("prune sessions of %s: %w", agent, err)
	}
	return p, err
}

// Now is the time by the clock of NATS, by which the commits of sessions are dated.
func (a *Archive) Now(ctx context.Context) (time.Time, error) {
	stream, err := a.js.Stream(ctx, bus.SessionsStream)
	if err != nil {
		return time.Time{}, fmt.Errorf("look up stream %s: %w", bus.SessionsStream, err)
	}
	return stream.CachedInfo().TimeStamp, nil
}

// pruneAll prunes sessions, then the objects that no other names. One that cannot
// be deleted leaves the others their turn.
func (a *Archive) pruneAll(ctx context.Context, agent string, sids []string, keep func(run.State, Summary) error, gone func(Key), p *Pruning) error {
	objects := map[string]bool{}
	var faults []error
	for _, sid := range sids {
		d := Deletion{Agent: agent, SID: sid}
		named, err := a.deleteLog(ctx, &d, keep)
		if err != nil && !errors.Is(err, errKept) && !errors.Is(err, ErrNoSession) {
			faults = append(faults, fmt.Errorf("session %s: %w", sid, err))
		}
		if ctx.Err() != nil {
			break
		}
		if named != nil {
			maps.Copy(objects, named)
			p.Sessions, p.Commits = p.Sessions+1, p.Commits+d.Commits
			gone(d.Key)
		}
	}
	n, err := a.deleteObjects(ctx, objects, "")
	p.Objects += n
	return errors.Join(append(faults, err)...)
}
