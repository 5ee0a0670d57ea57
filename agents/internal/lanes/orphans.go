package lanes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// orphansEvery is how often a host looks for tasks that no lane takes, at the least.
const orphansEvery = 10 * time.Second

// orphansPause is how long it is between two looks, at the least.
const orphansPause = time.Second

// endOrphans ends the delegates for agents that no host has ever served, until ctx
// ends. Lanes have filters for the agents that there are, and so nothing delivers
// these; a filter for all would cost every message. All hosts look, as one may be the
// only one: what they find has ids, and leaves the stream when it has its end. What is due
// before the next look one of them hears of as it comes.
func (s *Set) endOrphans(ctx context.Context) {
	heard := newAlarm()
	defer s.hearOrphans(heard)()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var looked, next time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-heard.set:
			if at := heard.take(); !at.IsZero() && at.Before(next) {
				next = later(at, looked.Add(orphansPause))
				timer.Reset(time.Until(next))
			}
			continue
		case <-timer.C:
		}
		wait, err := s.lookForOrphans(ctx)
		if err != nil && ctx.Err() == nil {
			s.Few.Warn().Err(err).Msg("look for tasks of unknown agents: failed; trying again")
		}
		looked = time.Now()
		next = looked.Add(min(orphansEvery, max(wait, orphansPause)))
		timer.Reset(time.Until(next))
	}
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// lookForOrphans ends what is due, and says how long it is until more is.
func (s *Set) lookForOrphans(ctx context.Context) (next time.Duration, err error) {
	api, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	next = orphansEvery
	if err := s.adoptLanes(api); err != nil {
		return next, err
	}
	stream, err := s.JS.Stream(api, bus.RoutesStream)
	if err != nil {
		return next, fmt.Errorf("look up stream %s: %w", bus.RoutesStream, err)
	}
	subjects, err := s.untaken(api, stream)
	if err != nil {
		return next, err
	}
	s.looked.begin(stream.CachedInfo(), subjects)
	var errs []error
	for _, subject := range subjects {
		wait, err := s.endOrphansOf(ctx, stream, subject)
		next = min(next, wait)
		errs = append(errs, err)
	}
	return next, errors.Join(errs...)
}

// A looked is how far an earlier look has come. What a program is sent stays in the stream for
// days: it is not read at each look.
type looked struct {
	created time.Time         // when the stream was made: one made again counts from 1 again
	from    map[string]uint64 // by subject, the first message that may be of interest
	waits   map[string]bool   // by subject, that message is a delegate
}

// begin is called at each look, with the subjects that are looked at.
func (l *looked) begin(stream *jetstream.StreamInfo, subjects []string) {
	if !stream.Created.Equal(l.created) {
		*l = looked{created: stream.Created, from: map[string]uint64{}}
	}
	maps.DeleteFunc(l.from, func(subject string, _ uint64) bool { return !slices.Contains(subjects, subject) })
	l.waits = map[string]bool{}
}

// pass notes a message that was read: the next look begins at the first that is a delegate.
func (l *looked) pass(subject string, seq uint64, delegate bool) {
	if l.waits[subject] {
		return
	}
	l.waits[subject] = delegate
	l.from[subject] = seq
	if !delegate {
		l.from[subject]++
	}
}

// untaken are the subjects of routes in the stream that no consumer takes.
func (s *Set) untaken(ctx context.Context, stream jetstream.Stream) ([]string, error) {
	info, err := stream.Info(ctx, jetstream.WithSubjectFilter(bus.RoutePrefix+"*"))
	if err != nil {
		return nil, fmt.Errorf("list subjects of %s: %w", bus.RoutesStream, err)
	}
	v := s.routing.Load()
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(info.State.Subjects)), v.isTaken)
	if len(unknown) == 0 { // as mostly
		s.programs.Store(nil)
		return nil, nil
	}
	filters, err := delivery.ConsumerFilters(ctx, stream)
	if err != nil {
		return nil, fmt.Errorf("consumers of %s: %w", bus.RoutesStream, err)
	}
	programs := map[string]bool{}
	for _, subject := range unknown {
		if slices.ContainsFunc(filters, func(filter string) bool { return bus.Matches(filter, subject) }) {
			programs[subject] = true
		}
	}
	s.programs.Store(&programs)
	return slices.DeleteFunc(unknown, func(subject string) bool { return programs[subject] }), nil
}

// endOrphansOf ends the delegates on subject that have waited long enough; wait is
// how long it is until the next one has.
func (s *Set) endOrphansOf(ctx context.Context, stream jetstream.Stream, subject string) (wait time.Duration, err error) {
	wait = orphansEvery
	agent := subject[len(bus.RoutePrefix):]
	var due []Message
	begin := max(s.looked.from[subject], delivery.LanesStart(stream.CachedInfo().Config))
	for rec, err := range s.Reader.Tail(ctx, bus.RoutesStream, subject, begin) {
		if err != nil {
			return wait, fmt.Errorf("read %s: %w", subject, err)
		}
		left, ok := patience(rec)
		s.looked.pass(subject, rec.Seq, ok)
		if ok && left <= 0 {
			due = append(due, Message{Agent: agent, Subject: rec.Subject, Seq: rec.Seq, Stored: rec.Time, Header: ownHeader(rec.Header), Data: rec.Data})
		} else if ok {
			wait = min(wait, left)
		}
	}
	if len(due) == 0 {
		return wait, nil
	}
	served, err := s.served(ctx)
	if err != nil || served.has(agent) { // a host is about to make a lane take it
		return wait, err
	}
	for _, m := range due {
		if err := s.endOrphan(ctx, stream, m); err != nil {
			return wait, err
		}
	}
	return wait, nil
}

// patience is how long a delegate still waits for its agent; anything else may be for
// a program that listens.
func patience(rec records.Record) (left time.Duration, ok bool) {
	end, ok := endOf(rec.Data, rec.Time)
	return time.Until(end), ok
}

// endOf is until when a delegate that came at a time waits for its agent.
func endOf(data []byte, came time.Time) (end time.Time, ok bool) {
	route, err := bus.DecodeRoute(data)
	if err != nil || route.Kind != bus.RouteDelegate {
		return end, false
	}
	end = came.Add(strayFor)
	if !route.Deadline.IsZero() && route.Deadline.Before(end) {
		end = route.Deadline
	}
	return end, true
}

// endOrphan ends m and, when that is stored, takes it out of the stream: so it is
// done once, whichever host does it.
func (s *Set) endOrphan(ctx context.Context, stream jetstream.Stream, m Message) error {
	ctx, cancel := context.WithTimeout(ctx, endWithin)
	defer cancel()
	ended := make(chan struct{})
	s.Ender.End(ctx, m, func() { close(ended) })
	select {
	case <-ended:
	case <-ctx.Done():
		return fmt.Errorf("end a task of %s: %w", m.Agent, context.Cause(ctx))
	}
	if err := stream.DeleteMsg(ctx, m.Seq); err != nil {
		if _, gone := s.Reader.Get(ctx, bus.RoutesStream, m.Seq); errors.Is(gone, records.ErrNotFound) {
			return nil // another host was quicker
		}
		return fmt.Errorf("take the task out of the stream: %w", err)
	}
	return nil
}

// ownHeader is the header of a message without what reading it has added.
func ownHeader(h nats.Header) nats.Header {
	own := maps.Clone(h)
	for name := range h {
		if strings.HasPrefix(name, "Nats-") && name != nats.MsgIdHdr {
			delete(own, name)
		}
	}
	return own
}
