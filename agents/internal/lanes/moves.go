package lanes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// moves are, for the subjects of channels and for routes that have changed, the agents that
// take what was stored when. All hosts of a fleet share them: the first that has another
// configuration writes them, for a time that is yet to come, by the clock of the
// stream. So each message is for the same agents on every host, though one has
// read its configuration before the other, and the lanes bring it at different times.
//
// They outlast the hosts. The lane of an agent that is new may begin at the first message of
// the stream, and the same goes for a lane whose consumer was lost: the record is all that shows
// which messages are older than the agent.
type moves map[string]history

// A history is the moves of a subject, the oldest first.
type history []move

type move struct {
	From []string  `json:"from,omitempty"` // the ids of agents, sorted
	To   []string  `json:"to"`
	At   time.Time `json:"at,omitzero"` // from here on; zero: all that is stored
}

const (
	movesKey = "moves" // in bus.LanesBucket
	// movesIn is how much before its time hosts hear of a move.
	movesIn = 2 * time.Second
	// A subject has mostMoves; they are forgotten when the last is movesFor old, and nothing
	// is stored that is older.
	mostMoves = 8
	movesFor  = 24 * time.Hour
)

// at are the agents that take what was stored at t; last reports whether they
// still do.
func (h history) at(t time.Time) (ids []string, last bool) {
	for i, m := range slices.Backward(h) {
		if !t.Before(m.At) {
			return m.To, i == len(h)-1
		}
	}
	if len(h) == 0 {
		return nil, true
	}
	return h[0].From, false
}

// next are the first agents that were bound after t: they take what was stored while none was.
func (h history) next(t time.Time) (ids []string, last bool) {
	for i, m := range h {
		if t.Before(m.At) && len(m.To) > 0 {
			return m.To, i == len(h)-1
		}
	}
	return nil, true
}

// now are the agents that take what is stored from here on.
func (h history) now() []string {
	if len(h) == 0 {
		return nil
	}
	return h[len(h)-1].To
}

// after is m when agents were bound as in before, and then as in after. Without before, the
// moves say what was bound. Agents that are the first of a channel take all that is stored.
// Nothing is stored that is older than oldest. none reports that m says so already.
func (m moves) after(before, after map[string][]string, at, oldest time.Time) (next moves, none bool) {
	m, none = m.notBeyond(at)
	next = maps.Clone(m)
	subjects := maps.Clone(after)
	for s := range m {
		subjects[s] = after[s]
	}
	for s := range before {
		subjects[s] = after[s]
	}
	isBound := func(s string) bool { return len(m[s])+len(before[s]) > 0 }
	for s, to := range subjects {
		h, from := m[s], before[s]
		if before != nil && slices.Equal(from, to) {
			continue
		}
		if len(h) > 0 {
			from = h.now()
		}
		first := len(h)+len(from) == 0
		if slices.Equal(from, to) || first && !isChannel(s) {
			continue
		}
		none = false
		if first && !slices.ContainsFunc(m.beside(before, s), isBound) {
			next[s] = history{{To: to}}
			continue
		}
		h = append(slices.Clone(h), move{From: from, To: to, At: at})
		next[s] = h[max(len(h)-mostMoves, 0):]
	}
	next.settle(earlier(oldest, at.Add(-movesFor)))
	return next, none
}

// clocksApart is how far the clocks of the servers of a cluster may be apart.
const clocksApart = time.Minute

// notBeyond is m with no move later than one that is written now; none reports that it has no such.
// The clock that has dated it was ahead: until then no host would be ready, and what is stored
// would be for the agents of before.
func (m moves) notBeyond(at time.Time) (next moves, none bool) {
	next, none = moves{}, true
	for s, h := range m {
		for i := range h {
			if h[i].At.After(at.Add(clocksApart)) {
				h = slices.Clone(h)
				h[i].At, none = at, false
			}
		}
		next[s] = h
	}
	return next, none
}

// beside are the subjects with which a subject may share messages: those of the instances of a
// channel, and every instance of it.
func (m moves) beside(before map[string][]string, subject string) (list []string) {
	if wide := wideChannel(subject); wide != "" && !strings.HasSuffix(subject, everyInstance) {
		return []string{bus.InboundPrefix + wide + everyInstance}
	}
	channel, every := strings.CutSuffix(subject, everyInstance)
	if !every {
		return nil
	}
	for _, known := range []iter.Seq[string]{maps.Keys(m), maps.Keys(before)} {
		for s := range known {
			if strings.HasPrefix(s, channel+".") {
				list = append(list, s)
			}
		}
	}
	return list
}

// settle forgets when agents were bound to subjects that have not changed since a time.
func (m moves) settle(since time.Time) {
	for s, h := range m {
		switch to := h.now(); {
		case !h[len(h)-1].At.Before(since):
		case len(to) > 0 && isChannel(s):
			m[s] = history{{To: to}}
		default:
			delete(m, s)
		}
	}
}

func isChannel(subject string) bool { return strings.HasPrefix(subject, bus.InboundPrefix) }

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// agree has all hosts know what becomes of the subjects that are bound in
// another way. It returns the moves that hold, and how long it is until the last
// of them counts. That NATS is away is waited for until ctx ends.
func (s *Set) agree(ctx context.Context, before, after map[string][]string) (moves, time.Duration, error) {
	for {
		m, wait, err := s.tryAgree(ctx, before, after)
		if err == nil || ctx.Err() != nil || errors.Is(err, nats.ErrMaxPayload) {
			return m, wait, err
		}
		s.Log.Warn().Err(err).Msg("hosts cannot agree on what agents are bound to; trying again")
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

const agreeWithin = 5 * time.Second

func (s *Set) tryAgree(ctx context.Context, before, after map[string][]string) (moves, time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, agreeWithin)
	defer cancel()
	kv, err := s.JS.KeyValue(ctx, bus.LanesBucket)
	if err != nil {
		return nil, 0, fmt.Errorf("read moves: %w", err)
	}
	now, oldest, err := s.clock(ctx)
	if err != nil {
		return nil, 0, err
	}
	for {
		m, revision := moves{}, uint64(0)
		switch entry, err := s.Reader.Entry(ctx, bus.LanesBucket, movesKey); {
		case err == nil:
			revision = entry.Seq
			if m, err = readMoves(entry.Data); err != nil {
				m = s.routing.Load().moves
			}
		case !errors.Is(err, records.ErrNotFound):
			return nil, 0, fmt.Errorf("read moves: %w", err)
		}
		next, none := m.after(before, after, now.Add(movesIn), oldest)
		if none {
			return m, m.last().Sub(now), nil
		}
		data, err := json.Marshal(next)
		if err != nil {
			return nil, 0, err
		}
		_, err = records.Replace(ctx, kv, movesKey, data, revision)
		if err == nil {
			s.tellMoves(next, now.Add(movesIn))
			return next, next.last().Sub(now), nil
		}
		if !records.Overtaken(err) {
			return nil, 0, fmt.Errorf("write moves: %w", err)
		}
	}
}

// tellMoves logs the subjects that go over to other agents at a time.
func (s *Set) tellMoves(m moves, at time.Time) {
	for subject, h := range m {
		if last := h[len(h)-1]; last.At.Equal(at) && isChannel(subject) {
			s.Few.Info().Str("subject", subject).Strs("from", last.From).Strs("to", last.To).Time("at", at).Msg("a channel goes over to other agents")
		}
	}
}

// clock is the time of the server that stores messages, and that of the oldest it has.
func (s *Set) clock(ctx context.Context) (now, oldest time.Time, err error) {
	stream, err := s.JS.Stream(ctx, bus.InboundStream)
	if err != nil {
		return now, oldest, fmt.Errorf("read the time of the server: %w", err)
	}
	info := stream.CachedInfo()
	if info.State.Msgs == 0 {
		return info.TimeStamp, info.TimeStamp, nil
	}
	return info.TimeStamp, info.State.FirstTime, nil
}

func (m moves) last() (at time.Time) {
	for _, h := range m {
		if t := h[len(h)-1].At; t.After(at) {
			at = t
		}
	}
	return at
}

// readMoves reads what hosts have agreed on.
func readMoves(data []byte) (moves, error) {
	m := moves{}
	if err := json.Unmarshal(data, &m); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errors.New("it is null")
	}
	maps.DeleteFunc(m, func(_ string, h history) bool { return len(h) == 0 })
	return m, nil
}

// followMoves takes over what other hosts write, until ctx ends.
// whole is called once all that they have written by now is taken over.
func (s *Set) followMoves(ctx context.Context, whole func()) {
	records.Mirror(ctx, s.JS, bus.LanesBucket, s.Log, func(entry jetstream.KeyValueEntry) {
		if entry.Operation() != jetstream.KeyValuePut { // hosts go on by what they know
			if entry.Key() == movesKey {
				s.putBackMoves(ctx, 0)
			}
			return
		}
		if strings.HasPrefix(entry.Key(), finishingPrefix) {
			s.takeFinishing(entry.Key(), entry.Revision(), entry.Value())
		}
		if agent, ok := strings.CutPrefix(entry.Key(), layoutPrefix); ok {
			s.divided(agent, said{entry.Revision(), entry.Value()})
		}
		if entry.Key() != movesKey {
			return
		}
		m, err := readMoves(entry.Value())
		if err != nil {
			s.Log.Warn().Err(err).Str("bucket", bus.LanesBucket).Str("key", movesKey).Msg("read which agents channels have: failed; a host that knows it writes it again")
			s.putBackMoves(ctx, entry.Revision())
			return
		}
		s.route(func(v *routing) *routing { return v.with(m) })
	}, whole)
}

// putBackMoves writes the moves again when they were lost with their bucket, or in the place of a
// revision that cannot be read: the next agent that is added would take all that is stored. Where
// another host was quicker, its moves count. A host that could not agree on any with the others knows
// none to put back.
func (s *Set) putBackMoves(ctx context.Context, revision uint64) {
	m := s.routing.Load().moves
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, agreeWithin)
	defer cancel()
	kv, err := s.JS.KeyValue(ctx, bus.LanesBucket)
	var data []byte
	if err == nil {
		data, err = json.Marshal(m)
	}
	if err == nil {
		_, err = records.Replace(ctx, kv, movesKey, data, revision)
	}
	if err != nil && !records.Overtaken(err) {
		s.Log.Warn().Err(err).Msg("write again which agents channels have: failed; an agent that is added while no host runs may answer old messages")
	}
}
