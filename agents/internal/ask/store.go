package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A Store keeps in NATS what the runs of a host wait for, and what people have allowed.
type Store struct {
	Publisher *publishing.Publisher
	JS        jetstream.JetStream
	Reader    *records.Reader
	Log       *zerolog.Logger
	Open      *Index // of what waits
	PassedOn  *PassedOn

	tidying sync.WaitGroup
}

// FromDeadline is the sender of the answer that the server gives at a deadline.
const FromDeadline = "agenthost:deadline"

// Put stores w, where every door that takes answers finds it. Putting it again changes
// nothing.
func (s *Store) Put(ctx context.Context, w Waiting) error {
	s.numberFirst(ctx, &w)
	msg, err := w.Entry()
	if err != nil {
		return err
	}
	if _, err := s.Publisher.PublishWait(ctx, msg); err != nil {
		return fmt.Errorf("note what is waited for: %w", err)
	}
	s.Open.add(w)
	return nil
}

// PutSoon is Put without waiting until it is stored.
func (s *Store) PutSoon(w Waiting) error {
	msg, err := w.Entry()
	if err == nil {
		s.tidying.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			s.numberFirst(ctx, &w)
		})
		s.Publisher.Publish(msg, func(uint64, bool, error) {})
		s.Open.add(w)
	}
	return err
}

// Entry is the entry of w in its bucket.
func (w Waiting) Entry() (*nats.Msg, error) {
	data, err := json.Marshal(w)
	if err != nil {
		return nil, err
	}
	msg := nats.NewMsg("$KV." + bus.WaitingBucket + "." + w.ID)
	msg.Data = data
	return msg, nil
}

// Remind has the server answer with fallback at the deadline of w; trace adds its headers
// to that answer.
func (s *Store) Remind(ctx context.Context, w Waiting, fallback string, trace func(nats.Header)) error {
	if w.Deadline.IsZero() {
		return nil
	}
	msg, err := w.Reminder(fallback, trace)
	if err != nil {
		return err
	}
	if _, err := s.Publisher.PublishWait(ctx, msg); err != nil {
		return fmt.Errorf("set the deadline of a question: %w", err)
	}
	return nil
}

// Reminder is the message by which the server answers with fallback at the deadline of w.
func (w Waiting) Reminder(fallback string, trace func(nats.Header)) (*nats.Msg, error) {
	msg, err := w.Answer(bus.Route{ID: w.ID + ":late", From: FromDeadline, Text: fallback, Door: bus.DoorDeadline})
	if err != nil {
		return nil, err
	}
	msg.Header.Del(nats.MsgIdHdr) // it may be set again, for another time
	w.scheduled(msg.Header)
	msg.Subject = schedule(w.ID)
	trace(msg.Header)
	return msg, nil
}

// Postpone has what came for w come again, at a time: no host serves its agent now.
func (s *Store) Postpone(ctx context.Context, w Waiting, header nats.Header, data []byte, at time.Time) error {
	msg := nats.NewMsg(schedule(w.ID))
	msg.Data = data
	for _, name := range []string{"Content-Type", "traceparent", "tracestate", bus.SessionKeyHeader} {
		if v := header.Get(name); v != "" {
			msg.Header.Set(name, v)
		}
	}
	w.Deadline = at
	w.scheduled(msg.Header)
	if _, err := s.Publisher.PublishWait(ctx, msg); err != nil {
		return fmt.Errorf("keep the answer to a question: %w", err)
	}
	return nil
}

// HasPostponed reports whether an answer to w is to come again: one that came for it before.
func (s *Store) HasPostponed(ctx context.Context, w Waiting) (bool, error) {
	rec, err := s.Reader.Last(ctx, bus.SchedulesStream, schedule(w.ID))
	if errors.Is(err, records.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look for the answer to a question: %w", err)
	}
	route, err := bus.ReadRoute(rec.Data)
	return err == nil && route.From != FromDeadline, nil
}

// scheduled has the server send a message to the agent at the deadline of w.
func (w Waiting) scheduled(header nats.Header) {
	header.Set(jetstream.ScheduleHeader, "@at "+w.reminder().Format(time.RFC3339))
	header.Set(jetstream.ScheduleTargetHeader, bus.DuePrefix+w.Agent)
	header.Set("Nats-TTL", "never")
}

// Delete deletes what waits under id, and its deadline. It only tidies up: an answer that
// comes later finds nothing open in the log.
func (s *Store) Delete(id string) {
	s.DeleteEntry(id)
	s.tidying.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		stream, err := s.JS.Stream(ctx, bus.SchedulesStream)
		if err == nil {
			err = stream.Purge(ctx, jetstream.WithPurgeSubject(schedule(id)))
		}
		if err != nil {
			s.Log.Debug().Err(err).Str("call", id).Msg("delete deadline: failed")
		}
	})
}

// DeleteEntry deletes what waits under id, which has no deadline.
func (s *Store) DeleteEntry(id string) {
	s.Open.close(id)
	msg := nats.NewMsg("$KV." + bus.WaitingBucket + "." + id)
	msg.Header.Set("KV-Operation", "DEL")
	s.Publisher.Publish(msg, func(uint64, bool, error) {})
}

// Abandon deletes what tools of an agent's session asked while they ran that is not alive:
// the host that ran them has died. It goes on beside, until ctx ends.
func (s *Store) Abandon(ctx context.Context, agent string, key session.Key, alive func(id string) bool) {
	s.tidying.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		for _, id := range s.Open.AtWork(ctx.Done(), key) {
			if of, _, _ := SplitID(id); of == agent && !alive(id) {
				s.DeleteEntry(id)
			}
		}
	})
}

// Wait waits for what Delete has begun.
func (s *Store) Wait() { s.tidying.Wait() }
