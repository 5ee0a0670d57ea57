package records

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// Following is what to follow of a stream, and who takes it.
type Following struct {
	Stream   string
	Subjects []string
	// All there is and what comes, or only what is behind a sequence, from a time on or new.
	After uint64
	Since time.Time
	New   bool

	// Began is called whenever the stream is being read, at first and again: messages come
	// from behind this sequence on, and so many are there already.
	Began func(after, pending uint64)
	// MadeAgain is called when the stream was deleted and made again, before the first message
	// of the new one: its sequences count from 1.
	MadeAgain func()
	// Take gets each message once, in the order of the stream. An error ends the following.
	Take func(jetstream.Msg, *jetstream.MsgMetadata) error

	// Patient has a stream that cannot be read at first be tried again, as one that can
	// not be read any more is.
	Patient bool
	Log     zerolog.Logger

	created time.Time // when the stream was made that is read
}

const (
	followAgain = time.Second
	// nextWithin is when a wait for a message ends and the next begins, if the stream is still the
	// same: longer than a consumer may be silent.
	nextWithin = time.Minute
	// unused is how long the server keeps a consumer that is not read.
	unused = time.Minute
)

// FollowStream hands out the messages of a stream as they come, until ctx ends, which is no error.
// What breaks is begun again behind what was taken last; a stream that was deleted and made again
// is read from its first message.
func FollowStream(ctx context.Context, js jetstream.JetStream, f Following) error {
	for begun := false; ; {
		err := f.read(ctx, js, &begun)
		var taking takeError
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // it ended as ctx did
		case errors.As(err, &taking):
			return taking.error
		case !begun && !f.Patient:
			return err
		}
		f.Log.Debug().Err(err).Str("stream", f.Stream).Msg("follow stream: failed; retrying")
		bus.Pause(ctx, followAgain)
	}
}

type takeError struct{ error }

// read reads until something fails, and notes how far it came.
func (f *Following) read(ctx context.Context, js jetstream.JetStream, begun *bool) error {
	stream, err := js.Stream(ctx, f.Stream)
	if err != nil {
		return fmt.Errorf("look up stream: %w", err)
	}
	f.begins(stream.CachedInfo().Created)
	if f.New {
		f.New, f.After = false, stream.CachedInfo().State.LastSeq
	}
	cfg := jetstream.OrderedConsumerConfig{
		FilterSubjects: f.Subjects, InactiveThreshold: unused,
		// More are made here, under another name each: nats.go asks for one name again and
		// again, and a cluster that has lost what became of it may never answer.
		MaxResetAttempts: 1,
	}
	if !f.Since.IsZero() {
		cfg.DeliverPolicy, cfg.OptStartTime = jetstream.DeliverByStartTimePolicy, &f.Since
	} else {
		cfg.DeliverPolicy, cfg.OptStartSeq = jetstream.DeliverByStartSequencePolicy, f.After+1
	}
	consumer, err := stream.OrderedConsumer(ctx, cfg)
	if err != nil {
		return fmt.Errorf("read stream: %w", err)
	}
	msgs, err := consumer.Messages()
	if err != nil {
		return fmt.Errorf("read stream: %w", err)
	}
	defer msgs.Stop()
	*begun = true
	if info := consumer.CachedInfo(); f.Began != nil {
		f.Began(info.Delivered.Stream, info.NumPending)
	}
	for {
		msg, err := f.next(ctx, js, msgs)
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		f.After, f.Since = meta.Sequence.Stream, time.Time{}
		if err := f.Take(msg, meta); err != nil {
			return takeError{err}
		}
	}
}

// begins notes when the stream was made, and reports whether it is another one than before. What
// nats.go begins again itself goes on behind the sequence that it has come to in that.
func (f *Following) begins(created time.Time) (again bool) {
	again = !f.created.IsZero() && !created.Equal(f.created)
	if f.created = created; again {
		f.After, f.Since = 0, time.Time{}
		if f.MadeAgain != nil {
			f.MadeAgain()
		}
	}
	return again
}

// next waits for the next message of an ordered consumer until ctx ends. A wait of nats.go that
// misses that the connection is back goes on for ever, although the consumer is gone: it does
// not look for signs of life while there is no connection. The next wait does.
func (f *Following) next(ctx context.Context, js jetstream.JetStream, msgs jetstream.MessagesContext) (jetstream.Msg, error) {
	for {
		wait, cancel := context.WithTimeout(ctx, nextWithin)
		msg, err := msgs.Next(jetstream.NextContext(wait))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
			return msg, err
		}
		stream, err := js.Stream(ctx, f.Stream)
		if err == nil && f.begins(stream.CachedInfo().Created) {
			return nil, errors.New("the stream was deleted and made again")
		}
	}
}
