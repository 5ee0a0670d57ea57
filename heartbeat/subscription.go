package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
	"github.com/rs/zerolog"
)

// A subscription is an Event of an agent at work. Only the goroutine of its
// Watcher touches where it is served from.
type subscription struct {
	w      *Watcher
	agent  string
	event  Event
	prompt *Prompt
	name   string // of the consumer, or of the queue group
	log    zerolog.Logger
	few    zerolog.Logger // log for what may happen to each event

	stream string    // that it is served from; empty: core NATS, or nothing yet
	made   time.Time // when the stream was: one made again has no consumer yet
	feed   jetstream.ConsumeContext
	core   *nats.Subscription
	parted string // the stream that was complained of

	unstored atomic.Int64 // events of core NATS of which what is told is not stored yet
}

// How a consumer of events is served. What a host that died has not told is
// delivered again after eventWait. A client that has forgotten to ask for more,
// as it rarely does, notices after two heartbeats.
const (
	eventWait      = 8 * time.Second
	eventPending   = 256
	eventHeartbeat = 2 * time.Second
	// mostUnstored is how many events of core NATS wait until what is told of them is stored. A
	// consumer has eventPending.
	mostUnstored = 10_000
)

// settle serves the subscription from the stream that keeps its subject, or
// from core NATS when none does.
func (s *subscription) settle(ctx context.Context) error {
	stream, err := s.find(ctx)
	if err != nil {
		return err
	}
	switch {
	case stream == nil:
		s.stopFeed()
		return s.listen()
	case s.serves(stream.CachedInfo()):
		return nil
	}
	s.stopFeed()
	return s.consume(ctx, stream)
}

// serves reports whether the subscription is served from that stream already.
func (s *subscription) serves(stream *jetstream.StreamInfo) bool {
	return s.feed != nil && s.stream == stream.Config.Name && s.made.Equal(stream.Created) && !isClosed(s.feed.Closed())
}

func isClosed(ch <-chan struct{}) bool {
	select {
	case <-ch:
		return true
	default:
		return false
	}
}

// find returns the stream that keeps all that the subscription is for; nil when
// there is none. One that keeps only a part of it is no help: of the rest
// nothing would be heard.
func (s *subscription) find(ctx context.Context) (jetstream.Stream, error) {
	names := s.w.JS.StreamNames(ctx, jetstream.WithStreamListSubject(s.event.Subject))
	for name := range names.Name() {
		stream, err := s.w.JS.Stream(ctx, name)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			continue // it was deleted just now
		}
		if err != nil {
			return nil, fmt.Errorf("look up stream %s: %w", name, err)
		}
		for _, kept := range stream.CachedInfo().Config.Subjects {
			if bus.Matches(kept, s.event.Subject) {
				return stream, nil
			}
		}
		if s.parted != name {
			s.parted = name
			s.log.Warn().Str("stream", name).Msg("subscribe to events: the stream keeps only a part of this subject, so each event is delivered at most once; subscribe to the parts separately")
		}
	}
	if err := names.Err(); err != nil && !errors.Is(err, jetstream.ErrEndOfData) {
		return nil, fmt.Errorf("look for a stream: %w", err)
	}
	return nil, nil
}

// consume serves the subscription from a stream, by the consumer that the hosts
// of the fleet share. One made now begins with what comes from now on.
func (s *subscription) consume(ctx context.Context, stream jetstream.Stream) error {
	name := stream.CachedInfo().Config.Name
	consumer, err := stream.Consumer(ctx, s.name)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		consumer, err = stream.CreateConsumer(ctx, s.config(stream))
	}
	if err != nil {
		return fmt.Errorf("consumer %s on stream %s: %w", s.name, name, err)
	}
	if err := s.stopCore(); err != nil { // at once: the consumer has what comes from here on
		return fmt.Errorf("unsubscribe: %w", err)
	}
	feed, err := consumer.Consume(s.stored, jetstream.PullMaxMessages(eventPending), jetstream.PullHeartbeat(eventHeartbeat), jetstream.ConsumeErrHandler(
		func(_ jetstream.ConsumeContext, err error) {
			if !errors.Is(err, nats.ErrConnectionClosed) {
				s.log.Debug().Err(err).Str("stream", name).Msg("read events")
			}
		}))
	if err != nil {
		return fmt.Errorf("read stream %s: %w", name, err)
	}
	s.stream, s.made, s.feed = name, stream.CachedInfo().Created, feed
	s.log.Info().Str("stream", name).Str("consumer", s.name).Msg("subscribe to events: from a stream, so each is delivered once")
	return nil
}

func (s *subscription) config(stream jetstream.Stream) jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		Durable: s.name, Description: "agenthost: events of agent " + s.agent, FilterSubject: s.event.Subject,
		AckPolicy: jetstream.AckExplicitPolicy, AckWait: eventWait, MaxAckPending: eventPending, DeliverPolicy: jetstream.DeliverNewPolicy,
		Metadata: map[string]string{"agenthost.agent": s.agent, "agenthost.subject": s.event.Subject},
	}
	if stream.CachedInfo().Config.Retention == jetstream.WorkQueuePolicy { // it takes no other
		c.DeliverPolicy = jetstream.DeliverAllPolicy
	}
	return c
}

// stored passes on a message of a stream.
func (s *subscription) stored(msg jetstream.Msg) {
	meta, err := msg.Metadata()
	if err != nil {
		s.log.Error().Err(err).Msg("event without stream metadata: ignored")
		return
	}
	s.tell(eventID(s.name, meta), msg.Subject(), msg.Headers(), msg.Data(), func(told bool) {
		if !told {
			return
		}
		if err := msg.Ack(); err != nil { // it comes again, and is known by its id
			s.log.Debug().Err(err).Msg("send ack of an event: failed; it will be redelivered")
		}
	})
}

// listen serves the subscription from core NATS.
func (s *subscription) listen() error {
	if s.core != nil && s.core.IsValid() {
		return nil
	}
	core, err := s.w.NC.QueueSubscribe(s.event.Subject, s.name, func(msg *nats.Msg) {
		if s.unstored.Add(1) > mostUnstored {
			s.unstored.Add(-1)
			s.few.Warn().Int("waiting", mostUnstored).Msg("pass event to agents: too many wait to be stored; this one is left out")
			return
		}
		s.tell(unstoredID(), msg.Subject, msg.Header, msg.Data, func(bool) { s.unstored.Add(-1) })
	})
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	s.core = core
	s.log.Info().Msg("subscribe to events: no stream keeps this subject, so each is delivered at most once, and none while no host runs")
	return nil
}

func (s *subscription) stopCore() error {
	if s.core == nil {
		return nil
	}
	err := s.core.Unsubscribe()
	s.core = nil
	return err
}

func (s *subscription) stopFeed() {
	if s.feed == nil {
		return
	}
	s.feed.Stop()
	<-s.feed.Closed()
	s.feed, s.stream = nil, ""
}

func (s *subscription) stop() {
	s.stopFeed()
	_ = s.stopCore() // the connection may be gone
}

// tell publishes what the agent is told of a message. Then done is called: told reports that
// it is stored, or is not to be told.
func (s *subscription) tell(id, subject string, header nats.Header, payload []byte, done func(told bool)) {
	chain := bus.ChainOf(subject, header)
	if why := s.refuse(chain); why != "" {
		s.log.Info().Str("on", subject).Strs("chain", chain).Str("reason", why).Msg("pass event to agents: left out")
		done(true)
		return
	}
	msg, err := bus.NewMessage(bus.RoutePrefix+s.agent, bus.Route{
		ID: id, Kind: bus.RouteEvent, From: clean(subject), Text: s.prompt.Fill(subject, payload), Chain: chain, Origin: s.event.To.origin(s.agent),
	})
	if err != nil {
		s.log.Error().Err(err).Msg("encode event")
		done(false)
		return
	}
	msg.Header.Set(nats.MsgIdHdr, id)
	for _, key := range []string{"traceparent", "tracestate"} {
		if v := header.Get(key); v != "" {
			msg.Header[key] = []string{v}
		}
	}
	s.w.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		if bus.Permanent(err) { // delivered again it would be refused again, and keep others back
			s.few.Error().Err(err).Str("on", subject).Str("id", id).Msg("pass event to agents: NATS refuses it for good; this one is left out")
			done(true)
			return
		}
		if err != nil {
			s.log.Warn().Err(err).Str("id", id).Msg("event is not stored")
		}
		done(err == nil)
	})
}

// maxChain is how many agents an event may have come through.
const maxChain = 8

// refuse says why an event that came through chain is not told; empty when it
// is.
func (s *subscription) refuse(chain []string) string {
	switch {
	case slices.Contains(chain, s.agent):
		return "it comes from the agent itself"
	case len(chain) > maxChain:
		return "it came through " + strconv.Itoa(len(chain)) + " agents"
	}
	return ""
}

// eventID names what an agent is told of a stored message. The time is in it
// because a stream that is made again counts from 1 again.
func eventID(consumer string, meta *jetstream.MsgMetadata) string {
	return strings.TrimPrefix(consumer, consumerPrefix) + ":" + meta.Stream + ":" + strconv.FormatUint(meta.Sequence.Stream, 10) +
		":" + strconv.FormatInt(meta.Timestamp.UnixNano(), 36)
}

// unstoredID names what an agent is told of a message that no stream keeps.
func unstoredID() string { return "event:" + nuid.Next() }
