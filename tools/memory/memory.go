// Package memory is what agents remember from one conversation to the next:
// notes about a person, which only the direct chats with this person see, and
// notes of the agent, which all its chats see. Who the person is comes from the
// session, never from the model.
//
// The notes are in the bucket AGENT_MEMORY. What is searched is an index of
// them in memory, one per agent, made when the agent first uses its memory and
// kept up to date by a watch on the bucket: several hosts agree. A note is
// there for its host's next call at once, for those of other hosts soon after.
package memory

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// MaxText is how long a note may be, in bytes.
const MaxText = 4 << 10

// Options are what a Memory may be told. The zero Options are good for use.
type Options struct {
	// MaxNotes is how many notes an agent has at most; 0: 10,000. Calls that run
	// side by side may pass it by a few.
	MaxNotes int
	// Chats are the keys of all direct chats with the person with whom the one with
	// that key is; nil: it alone.
	Chats func(key string) []string
	Log   zerolog.Logger
}

// A Memory is the notes of all agents of a host. Make one with New; it starts
// nothing, and its tools work while Run runs.
type Memory struct {
	js   jetstream.JetStream
	opt  Options
	open chan *shelf // to be followed

	mu      sync.Mutex
	shelves map[string]*shelf // by agent
}

// New makes a Memory on the bucket AGENT_MEMORY.
func New(js jetstream.JetStream, opt Options) *Memory {
	opt.MaxNotes = cmp.Or(opt.MaxNotes, 10_000)
	if opt.Chats == nil {
		opt.Chats = func(key string) []string { return []string{key} }
	}
	return &Memory{js: js, opt: opt, open: make(chan *shelf), shelves: map[string]*shelf{}}
}

// Run follows the bucket for the agents that use their memory, until ctx ends.
// A Memory runs once.
func (m *Memory) Run(ctx context.Context) error {
	var group sync.WaitGroup
	defer group.Wait()
	for {
		select {
		case s := <-m.open:
			group.Go(func() {
				err := m.follow(ctx, s)
				m.close(s, err)
				if ctx.Err() == nil && !errors.Is(err, errReconnected) {
					m.opt.Log.Warn().Err(err).Str("agent", s.agent).Msg("follow memory: stopped; its next use reads it again")
				}
			})
		case <-ctx.Done():
			return nil
		}
	}
}

// shelf is the notes of an agent. The first use reads them.
func (m *Memory) shelf(ctx context.Context, agent string) (*shelf, error) {
	m.mu.Lock()
	s := m.shelves[agent]
	first := s == nil
	if first {
		s = &shelf{agent: agent, index: newIndex(), gone: map[string]bool{}, ready: make(chan struct{})}
		m.shelves[agent] = s
	}
	m.mu.Unlock()
	if first {
		select {
		case m.open <- s:
		case <-ctx.Done():
			m.close(s, context.Cause(ctx))
		}
	}
	select {
	case <-s.ready:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if s.err != nil {
		return nil, fmt.Errorf("open the memory: %w", s.err)
	}
	return s, nil
}

// close takes s away, so that the next use starts over. Who waits for it is
// told why.
func (m *Memory) close(s *shelf, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.shelves[s.agent] == s {
		delete(m.shelves, s.agent)
	}
	s.settle(err)
}

var errReconnected = errors.New("NATS reconnected")

// follow reads the notes of an agent and what becomes of them until ctx ends,
// or the connection was away: a watch takes half a minute to notice that.
func (m *Memory) follow(ctx context.Context, s *shelf) error {
	back := m.js.Conn().StatusChanged(nats.CONNECTED)
	defer m.js.Conn().RemoveStatusListener(back)
	kv, err := m.js.KeyValue(ctx, bus.MemoryBucket)
	if err != nil {
		return err
	}
	watch, err := kv.Watch(ctx, s.agent+".*.*")
	if err != nil {
		return err
	}
	defer func() { _ = watch.Stop() }() // the connection may be gone
	for {
		select {
		case entry, ok := <-watch.Updates():
			switch {
			case !ok:
				return errors.New("the watch has ended")
			case entry == nil:
				s.settle(nil)
			default:
				if err := s.take(entry); err != nil {
					m.opt.Log.Warn().Err(err).Str("agent", s.agent).Msg("read memory: an entry was not written by a host; left out")
				}
			}
		case <-back:
			return errReconnected
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
