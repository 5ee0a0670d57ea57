package why

import (
	"context"
	"fmt"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
)

// A place is where a message is stored.
type place struct {
	stream string
	seq    uint64
}

// lookIntoRetries finds what was sent again of dead letters of the message and its replies.
// The letter itself is gone then.
func (s *search) lookIntoRetries(ctx context.Context) error {
	type store struct{ stream, subject string }
	begin := map[store]time.Time{}
	for _, step := range s.way.Steps {
		if step.What != Accepted && step.What != Published {
			continue
		}
		in := store{step.Stream, step.Subject}
		if at, known := begin[in]; !known || step.At.Before(at) {
			begin[in] = step.At
		}
		s.places[place{step.Stream, step.Seq}] = true
	}
	for in, at := range begin {
		for rec, err := range s.reader.Since(ctx, in.stream, in.subject, at) {
			if err != nil {
				return absent(err)
			}
			if agent, was, ok := retriedOf(rec); ok && s.places[was] { // what was sent again may be so once more
				if err := s.sentAgain(ctx, agent, in.stream, was, rec); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// sentAgain adds that the message of a place was sent again.
func (s *search) sentAgain(ctx context.Context, agent, stream string, was place, rec records.Record) error {
	s.places[place{stream, rec.Seq}], s.refused[was] = true, true
	step := Step{At: rec.Time, What: SentAgain, Agent: agent, Stream: stream, Seq: rec.Seq, Subject: rec.Subject, ID: idIn(rec.Data)}
	s.add(step)
	switch {
	case stream == bus.OutboundStream:
		return s.delivered(ctx, step)
	case step.ID != "" && step.ID != s.id: // it is another message to its session
		return s.as(ctx, step.ID)
	}
	return nil
}

// retriedOf is the agent and the place of the message that a message repeats, as its name says:
// retry:dead:<agent>:<stream>:<seq>:<number of the letter>.
func retriedOf(rec records.Record) (agent string, was place, ok bool) {
	name, ok := strings.CutPrefix(rec.Header.Get(nats.MsgIdHdr), "retry:dead:")
	parts := strings.Split(name, ":")
	if !ok || len(parts) != 4 {
		return "", place{}, false
	}
	agent, was.stream = parts[0], parts[1]
	_, err := fmt.Sscan(parts[2], &was.seq)
	return agent, was, err == nil
}
