// Package retention deletes sessions that have become too old, and files that deleted
// sessions have left because messages named them.
//
// Each host of a fleet runs a [Sweeper], which looks at the agents that the host
// owns at that moment, and at the files. Two hosts that both think so do no harm: a
// deletion is fenced as a commit is, so every session is deleted once, and every file.
package retention

import (
	"context"
	"time"

	"agenthost/session"

	"github.com/rs/zerolog"
)

// A Sweeper deletes the sessions that are older than their agents want to keep
// them. Its Run may be called once.
type Sweeper struct {
	Archive archive
	// Ages are how long agents keep sessions after the last message; agents without
	// an age keep them for ever.
	Ages func() map[string]time.Duration
	// Owns reports whether this host serves an agent.
	Owns func(ctx context.Context, agent string) (bool, error)
	// Busy reports whether there is something to do in a session that its log does
	// not have yet.
	Busy func(agent string, key session.Key) bool
	// Gone is called for each session that was deleted.
	Gone func(agent string, key session.Key)
	Log  zerolog.Logger

	swept      map[string]time.Time
	sweptFiles time.Time
}

type archive interface {
	Now(ctx context.Context) (time.Time, error)
	Prune(ctx context.Context, agent string, before time.Time, busy func(session.Key) bool, gone func(session.Key)) (session.Pruning, error)
	DeleteLeft(ctx context.Context, before time.Time) (deleted int, err error)
}

// How often the sessions of an agent are looked at: often enough that none stays
// for much longer than it should, and once an hour where ages are long.
const (
	leastPause = time.Second
	mostPause  = time.Hour
	parts      = 20 // of the age
	lookEvery  = 10 * time.Second
)

// How often the files that were left are listed, and each of them looked for in the
// streams of messages, which keep what names it for days.
const (
	filesEvery = time.Hour
	fileEvery  = 24 * time.Hour
)

func pause(age time.Duration) time.Duration { return min(max(age/parts, leastPause), mostPause) }

// Run sweeps until ctx ends.
func (s *Sweeper) Run(ctx context.Context) {
	s.swept, s.sweptFiles = map[string]time.Time{}, time.Now()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
			return
		case <-time.After(s.next()):
		}
		for agent, age := range s.Ages() {
			if time.Since(s.swept[agent]) >= pause(age) {
				s.sweep(ctx, agent, age)
				s.swept[agent] = time.Now()
			}
		}
		if time.Since(s.sweptFiles) >= filesEvery {
			s.sweepFiles(ctx)
			s.sweptFiles = time.Now()
		}
	}
}

// next is how long to wait: ages may change, and agents come and go.
func (s *Sweeper) next() time.Duration {
	wait := lookEvery
	for _, age := range s.Ages() {
		wait = min(wait, pause(age))
	}
	return wait
}

func (s *Sweeper) sweep(ctx context.Context, agent string, age time.Duration) {
	if owns, err := s.Owns(ctx, agent); err != nil || !owns {
		if err != nil && ctx.Err() == nil {
			s.Log.Warn().Err(err).Str("agent", agent).Msg("delete old sessions: cannot find out which host serves the agent; retrying")
		}
		return
	}
	now, err := s.Archive.Now(ctx) // a host whose clock is ahead would take all for old
	if err != nil {
		if ctx.Err() == nil {
			s.Log.Warn().Err(err).Str("agent", agent).Msg("delete old sessions: cannot ask NATS for the time; retrying")
		}
		return
	}
	began := time.Now()
	busy := func(key session.Key) bool { return s.Busy(agent, key) }
	gone := func(key session.Key) { s.Gone(agent, key) }
	p, err := s.Archive.Prune(ctx, agent, now.Add(-age), busy, gone)
	if p.Sessions > 0 {
		s.Log.Info().Str("agent", agent).Dur("older_than_ms", age).Int("sessions", p.Sessions).Int("commits", p.Commits).
			Int("files", p.Objects).Dur("took", time.Since(began)).Msg("delete old sessions")
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Warn().Err(err).Str("agent", agent).Msg("delete old sessions: not all could be deleted; retrying")
	}
}

func (s *Sweeper) sweepFiles(ctx context.Context) {
	n := 0
	now, err := s.Archive.Now(ctx)
	if err == nil {
		n, err = s.Archive.DeleteLeft(ctx, now.Add(-fileEvery))
	}
	if n > 0 {
		s.Log.Info().Int("files", n).Msg("delete files that deleted sessions have left")
	}
	if err != nil && ctx.Err() == nil {
		s.Log.Warn().Err(err).Msg("delete files that deleted sessions have left: not all could be deleted; retrying")
	}
}
