// Package telemetry exports what runs have done as traces of OpenTelemetry.
//
// The spans are made of the events in the logs of the sessions once a run is over, so that
// they are whole whichever hosts the run went through, and cost a run that is not traced
// nothing. Their ids follow from the ids of what they stand for: what agents do for each other
// is joined without more on the wire than the traceparent of the message that began it.
package telemetry

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"

	"github.com/rs/zerolog"
	tracev1 "go.opentelemetry.io/proto/slim/otlp/trace/v1"
)

// mostOpen bounds the runs whose events are kept until they end. Beyond that they are read
// from their logs.
const mostOpen = 4096

// History reads the log of a session.
type History func(ctx context.Context, agent, sid string) iter.Seq2[session.Fact, error]

// Traces makes spans of what is committed, and sends them.
type Traces struct {
	settings settings
	resource resource
	history  History
	known    func(tool string) bool
	log      zerolog.Logger
	few      zerolog.Logger

	spans chan []*tracev1.Span
	late  chan ended

	mu   sync.Mutex
	open map[string]*story // by the subjects of their sessions, which have one run at a time
}

// ended is a run of which not all was seen here.
type ended struct{ agent, sid, run string }

// Options are what Open needs to know.
type Options struct {
	Getenv  func(string) string
	Host    string
	Version string
	Log     zerolog.Logger
	History History
	// Known reports whether there is a tool of that name; nil: of none.
	Known func(tool string) bool
}

// Open reads the variables of OpenTelemetry. Without an endpoint for traces it returns nil,
// for which all methods do nothing.
func Open(opt Options) (*Traces, error) {
	s, on, err := read(opt.Getenv)
	if err != nil || !on {
		return nil, err
	}
	return &Traces{
		settings: s, resource: newResource(s, opt.Host, opt.Version), history: opt.History, known: opt.Known, log: opt.Log, few: bus.Few(opt.Log),
		spans: make(chan []*tracev1.Span, s.queue), late: make(chan ended, s.queue), open: map[string]*story{},
	}, nil
}

// Begin is the traceparent of a message that came to an agent without one: the same whichever
// host takes it.
func (t *Traces) Begin(agent, subject string, seq uint64, stored time.Time) string {
	if t == nil {
		return ""
	}
	p := t.settings.sampler.begin(traceOf(subject, stored))
	p.span = spanOfInput(agent, subject, seq)
	return p.String()
}

// Committed hears of every commit to a session, and of which it follows there.
func (t *Traces) Committed(subject, id string, after, seq uint64, events []run.Event) {
	if t == nil {
		return
	}
	s, over := t.tell(subject, id, after, seq, events)
	switch {
	case !over:
	case s.whole():
		t.send(s)
	default:
		t.later(ended{s.agent, s.sid, s.run})
	}
}

// later has the log of a run read.
func (t *Traces) later(e ended) {
	select {
	case t.late <- e:
	default:
		t.dropped()
	}
}

// tell adds a commit to the story of its run, which it begins with the first. A story that
// it does not follow is given up: another host has gone on with the session.
func (t *Traces) tell(subject, id string, after, seq uint64, events []run.Event) (s *story, over bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s = t.open[subject]
	if s != nil && s.until != after {
		delete(t.open, subject)
		s = nil
	}
	if s != nil {
		s.until = seq
	}
	if id == "" { // of no run, beside that one
		return s, false
	}
	if s == nil || s.run != id {
		if len(t.open) >= mostOpen {
			clear(t.open)
		}
		agent, sid, _ := strings.Cut(strings.TrimPrefix(subject, "agent.session."), ".")
		s = &story{agent: agent, sid: sid, run: id, until: seq}
		t.open[subject] = s
	}
	for i := range events {
		s.add(&events[i])
		over = over || events[i].Type == run.Finished
	}
	if over {
		delete(t.open, subject)
	}
	return s, over
}

func (t *Traces) send(s *story) {
	spans := s.spans(t.settings.sampler, t.known)
	if len(spans) == 0 {
		return
	}
	select {
	case t.spans <- spans:
	default:
		t.dropped()
	}
}

func (t *Traces) dropped() {
	t.few.Warn().Msg("traces: the queue is full; spans are dropped. OTEL_BSP_MAX_QUEUE_SIZE bounds it")
}

// readLate makes the spans of a run that another host has begun, or has gone on with.
func (t *Traces) readLate(ctx context.Context, e ended, within time.Duration) []*tracev1.Span {
	reading, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	s := &story{agent: e.agent, sid: e.sid, run: e.run}
	for fact, err := range t.history(reading, e.agent, e.sid) {
		if err != nil && errors.Is(ctx.Err(), context.Canceled) { // the host ends: rest tries once more
			t.later(e)
			return nil
		}
		if err != nil {
			t.few.Warn().Err(err).Str("run", e.run).Msg("traces: read a run that began elsewhere")
			return nil
		}
		if fact.Of != e.run {
			continue
		}
		if s.add(&fact.Event); fact.Event.Type == run.Finished || len(s.events) == 1 && !s.traced(t.settings.sampler) {
			break // the rest has nothing for it
		}
	}
	return s.spans(t.settings.sampler, t.known)
}

// Run sends spans until ctx ends, and what is left then.
func (t *Traces) Run(ctx context.Context) error {
	if t == nil {
		return nil
	}
	t.log.Info().Str("to", withoutLogin(t.settings.url)).Msg("traces are sent")
	b := &batch{Traces: t, exporter: newExporter(t.settings, t.resource)}
	defer b.exporter.client.CloseIdleConnections()
	tick := time.NewTicker(t.settings.delay)
	defer tick.Stop()
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	context.AfterFunc(ctx, func() { time.AfterFunc(lastWithin, cancel) })
	for {
		select {
		case <-ctx.Done():
			b.rest(sending)
			return ctx.Err()
		case spans := <-t.spans:
			b.add(sending, spans)
		case e := <-t.late:
			b.add(sending, t.readLate(ctx, e, t.settings.timeout))
		case <-tick.C:
			b.send(sending)
		}
	}
}

// A batch is what is sent at once.
type batch struct {
	*Traces
	exporter *exporter
	spans    []*tracev1.Span
}

// add adds the spans of a run, and sends what is full. A run is divided only when a batch has
// no room for it.
func (b *batch) add(ctx context.Context, spans []*tracev1.Span) {
	if len(b.spans)+len(spans) > b.settings.batch {
		b.send(ctx)
	}
	for part := range slices.Chunk(spans, b.settings.batch) {
		if b.spans = append(b.spans, part...); len(b.spans) >= b.settings.batch {
			b.send(ctx)
		}
	}
}

func (b *batch) send(ctx context.Context) {
	if len(b.spans) == 0 {
		return
	}
	if err := b.exporter.export(ctx, b.spans); err != nil {
		b.few.Error().Err(err).Int("spans", len(b.spans)).Msg("traces: a batch could not be sent and is dropped")
	}
	b.spans = nil
}

// lastWithin is how long a host that ends waits for a collector, and for its logs.
const lastWithin = 3 * time.Second

// rest sends what waits when the host ends. Logs are read after that: a slow one costs no more
// than its own run, and there is still time to send the others.
func (b *batch) rest(ctx context.Context) {
	for len(b.Traces.spans) > 0 {
		b.add(ctx, <-b.Traces.spans)
	}
	b.send(ctx)
	reading, cancel := context.WithTimeout(ctx, lastWithin/2)
	defer cancel()
	for len(b.late) > 0 && reading.Err() == nil {
		b.add(ctx, b.readLate(reading, <-b.late, lastWithin/6))
	}
	if n := len(b.late); n > 0 {
		b.few.Warn().Int("runs", n).Msg("traces: the host ends before it has read all runs that began elsewhere")
	}
	b.send(ctx)
}
