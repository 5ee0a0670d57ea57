package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Message is one of a stream.
type Message struct {
	Seq     uint64
	Subject string
	Header  nats.Header
	Data    []byte
	Time    time.Time
}

// Streams is all that the fleet has written.
type Streams struct {
	Outbound, Sessions, Dead, Events, Routes []Message
}

// Read reads all streams as far as they are.
func Read(ctx context.Context, js jetstream.JetStream) (s Streams, err error) {
	for name, into := range map[string]*[]Message{
		bus.OutboundStream: &s.Outbound, bus.SessionsStream: &s.Sessions, bus.DeadStream: &s.Dead, bus.EventsStream: &s.Events,
		bus.RoutesStream: &s.Routes,
	} {
		if *into, err = readAll(ctx, js, name); err != nil {
			return Streams{}, fmt.Errorf("read %s: %w", name, err)
		}
	}
	return s, nil
}

// readAll reads a stream from its beginning to where it ends now.
func readAll(ctx context.Context, js jetstream.JetStream, name string) (msgs []Message, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	last := stream.CachedInfo().State.LastSeq
	if stream.CachedInfo().State.Msgs == 0 {
		return nil, nil
	}
	done := false
	err = Follow(ctx, js, name, 1, func(msg Message) {
		msgs = append(msgs, msg)
		if msg.Seq >= last {
			done = true
			cancel()
		}
	})
	if done {
		return msgs, nil
	}
	return nil, err
}

// quiet is how long nothing may come before the iterator of NATS is taken for one that has
// missed that its connection is back: it waits without end then. In a fleet that runs
// something is said every few seconds.
const quiet = 20 * time.Second

// Follow calls do with the messages of a stream from a sequence on, until ctx
// ends, or nothing has come for a while.
func Follow(ctx context.Context, js jetstream.JetStream, name string, from uint64, do func(Message)) error {
	cons, err := js.OrderedConsumer(ctx, name, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
	})
	if err != nil {
		return err
	}
	it, err := cons.Messages()
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, it.Stop)
	defer stop()
	defer it.Stop()
	for {
		msg, err := it.Next(jetstream.NextMaxWait(quiet))
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) {
			return ctx.Err()
		}
		if err != nil {
			return err
		}
		meta, err := msg.Metadata()
		if err != nil {
			return err
		}
		do(Message{Seq: meta.Sequence.Stream, Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data(), Time: meta.Timestamp})
	}
}
