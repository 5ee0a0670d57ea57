package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

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
	Due                                      []Message // all of it has been worked on; Read leaves it out
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
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return nil, err
	}
	last := stream.CachedInfo().State.LastSeq
	if stream.CachedInfo().State.Msgs == 0 {
		return nil, nil
	}
	err = records.FollowStream(ctx, js, records.Following{Stream: name, Take: func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
		seq := meta.Sequence.Stream
		msgs = append(msgs, Message{Seq: seq, Subject: msg.Subject(), Header: msg.Headers(), Data: msg.Data(), Time: meta.Timestamp})
		if seq >= last {
			return errRead
		}
		return nil
	}})
	if errors.Is(err, errRead) {
		return msgs, nil
	}
	return nil, errors.Join(err, ctx.Err())
}

var errRead = errors.New("all is read")
