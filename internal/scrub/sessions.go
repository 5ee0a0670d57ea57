package scrub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/session"

	"golang.org/x/sync/errgroup"
)

// atOnce is how many sessions are read beside each other.
const atOnce = 8

// A place is where a session is stored.
type place struct{ agent, sid string }

func comparePlaces(p, q place) int {
	return cmp.Or(cmp.Compare(p.agent, q.agent), cmp.Compare(p.sid, q.sid))
}

// A suspect is a session with defects.
type suspect struct {
	place
	defects []session.Defect
}

// sessions verifies every session. What has a defect is read again: it may have been
// written to meanwhile.
func (s *scrubber) sessions(ctx context.Context, a *session.Archive) error {
	replied, err := s.answered(ctx) // before the logs, which are written before the replies
	if err != nil {
		return err
	}
	logs, err := s.places(ctx, "agent.session.*.*")
	if err != nil {
		return err
	}
	if err := errors.Join(s.lonelySnapshots(ctx, a, logs), s.lostLogs(ctx, a, replied, logs)); err != nil {
		return err
	}
	suspects, err := s.verify(ctx, a, slices.SortedFunc(maps.Keys(logs), comparePlaces), true)
	for range tries - 1 {
		if err != nil || len(suspects) == 0 {
			return err
		}
		if err := s.rest(ctx); err != nil {
			return err
		}
		var again []place
		for _, one := range suspects {
			again = append(again, one.place)
		}
		suspects, err = s.verify(ctx, a, again, false)
	}
	slices.SortFunc(suspects, func(p, q suspect) int { return comparePlaces(p.place, q.place) })
	for _, one := range suspects {
		for _, d := range one.defects {
			s.found(Finding{
				Kind: string(d.Kind), Stream: bus.SessionsStream, Subject: session.Subject(one.agent, one.sid), Seq: d.Seq,
				Agent: one.agent, SID: one.sid, Text: d.Text,
			})
		}
	}
	return err
}

// verify verifies sessions beside each other and returns those with defects. One that is
// gone has none. With count they are counted in the report.
func (s *scrubber) verify(ctx context.Context, a *session.Archive, list []place, count bool) (suspects []suspect, err error) {
	var mu sync.Mutex // guards suspects, done and the report
	done := uint64(0)
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, p := range list {
		g.Go(func() error {
			v, err := a.Verify(ctx, p.agent, p.sid)
			if err != nil && !errors.Is(err, session.ErrNoSession) {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if done++; done%atOnce == 0 {
				s.opt.Progress(Progress{"sessions", done, uint64(len(list))})
			}
			if len(v.Defects) > 0 && err == nil {
				suspects = append(suspects, suspect{p, v.Defects})
			}
			if count && err == nil {
				s.count(v)
			}
			return nil
		})
	}
	err = g.Wait()
	return suspects, err
}

func (s *scrubber) count(v session.Verification) {
	s.report.Sessions++
	s.report.Commits += v.Commits
	if v.Snapshot {
		s.report.Snapshots++
	}
}

// places are those of the logs, or snapshots, that filter matches: agent.session.AGENT.SID
// or agent.snapshot.AGENT.SID.
func (s *scrubber) places(ctx context.Context, filter string) (map[place]uint64, error) {
	all := map[place]uint64{}
	err := records.Heads(ctx, s.js, bus.SessionsStream, filter, true, func(rec records.Record) {
		if fields := strings.Split(rec.Subject, "."); len(fields) == 4 {
			all[place{fields[2], fields[3]}] = rec.Seq
		}
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return all, nil
}

// lonelySnapshots reports the snapshots whose session has no log.
func (s *scrubber) lonelySnapshots(ctx context.Context, a *session.Archive, logs map[place]uint64) error {
	snapshots, err := s.places(ctx, "agent.snapshot.*.*")
	if err != nil {
		return err
	}
	maps.DeleteFunc(snapshots, func(p place, _ uint64) bool { _, ok := logs[p]; return ok })
	if len(snapshots) == 0 {
		return nil
	}
	if err := s.rest(ctx); err != nil { // a deletion that is under way takes the snapshot, too
		return err
	}
	still, err := s.places(ctx, "agent.snapshot.*.*")
	if err != nil {
		return err
	}
	for _, p := range slices.SortedFunc(maps.Keys(snapshots), comparePlaces) {
		begun, err := a.Has(ctx, p.agent, p.sid)
		if err != nil {
			return err
		}
		if seq := still[p]; seq > 0 && !begun {
			s.found(Finding{
				Kind: SnapshotAlone, Stream: bus.SessionsStream, Seq: seq, Agent: p.agent, SID: p.sid,
				Text: "there is a snapshot and no log: the log is lost, or the session was deleted while its snapshot was written",
			})
		}
	}
	return nil
}
