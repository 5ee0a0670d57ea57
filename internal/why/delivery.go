package why

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/plugins"
	"agenthost/run"

	"github.com/nats-io/nats.go/jetstream"
)

func streamOf(subject string) string {
	switch {
	case strings.HasPrefix(subject, bus.InboundPrefix):
		return bus.InboundStream
	case strings.HasPrefix(subject, bus.DuePrefix):
		return bus.SchedulesStream
	}
	return bus.RoutesStream
}

// published adds when a reply was stored for its channel, and whether that has
// delivered it.
func (s *search) published(ctx context.Context, t *telling, e run.Event, said Step) error {
	if !strings.HasPrefix(e.Reply.Subject, bus.OutboundPrefix) {
		return nil
	}
	rec, err := s.reader.Find(ctx, records.Search{Subject: e.Reply.Subject, Since: e.At.Add(-clockSkew)}, e.Reply.ID)
	if errors.Is(err, records.ErrNotFound) {
		s.unpublished[bus.UnpublishedID(e.Reply.ID)] = true
		return nil
	}
	if err != nil {
		return absent(err)
	}
	step := Step{
		At: rec.Time, What: Published, Agent: t.agent, Session: t.key, Run: said.Run,
		Stream: bus.OutboundStream, Seq: rec.Seq, Subject: rec.Subject, ID: e.Reply.ID,
	}
	s.add(step)
	return s.delivered(ctx, step)
}

// clockSkew is how far the clocks of a host and of NATS may differ.
const clockSkew = time.Minute

// delivered adds which consumers of the channel have taken a reply. A consumer tells up to
// where it has all acknowledged, and so nothing of what is behind a reply that hangs: what
// the account has noted of the reply itself comes first.
func (s *search) delivered(ctx context.Context, published Step) error {
	noted, err := s.noted(ctx, published)
	if err != nil {
		return err
	}
	stream, err := s.js.Stream(ctx, bus.OutboundStream)
	if err != nil {
		return absent(err)
	}
	list := stream.ListConsumers(ctx)
	for info := range list.Info() {
		if info.Config.Durable == "" || !takes(info.Config, published.Subject) {
			continue
		}
		step := published
		step.Name, step.What = info.Config.Durable, Delivered
		switch mine := step.Name == noted.Consumer; {
		case mine && noted.Whole():
			step.At = noted.At
		case info.AckFloor.Stream < published.Seq:
			step.What = Pending
			step.Detail = fmt.Sprintf("%d wait", info.NumPending+uint64(info.NumAckPending))
			if mine {
				step.Detail = fmt.Sprintf("%d of %d parts, ", noted.Taken, noted.Parts) + step.Detail
			}
		case info.AckFloor.Last != nil && info.AckFloor.Last.After(step.At):
			step.Detail = "by " + info.AckFloor.Last.UTC().Format(time.RFC3339)
		}
		s.add(step)
	}
	return list.Err()
}

// noted is how far a reply has come on its account, if that has noted anything.
func (s *search) noted(ctx context.Context, published Step) (plugins.Progress, error) {
	p, err := plugins.ProgressOf(ctx, s.reader, published.Subject, published.ID)
	if errors.Is(err, records.ErrNotFound) || errors.Is(err, jetstream.ErrBucketNotFound) {
		return plugins.Progress{}, nil
	}
	return p, err
}

// givenUp reports whether a step is of a plugin that has not delivered the reply, nor is going
// to, but made a dead letter of it.
func (s *search) givenUp(step Step) bool {
	return (step.What == Delivered || step.What == Pending) && s.refused[place{step.Stream, step.Seq}] && strings.HasPrefix(step.Name, "plugin-")
}

// takes reports whether a consumer gets what is published on subject.
func takes(c jetstream.ConsumerConfig, subject string) bool {
	filters := c.FilterSubjects
	if c.FilterSubject != "" {
		filters = append(filters, c.FilterSubject)
	}
	for _, f := range filters {
		if bus.Overlap(f, subject) {
			return true
		}
	}
	return len(filters) == 0
}
