package service

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/tools"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// lookAgain is how often a service is looked for while a call waits for it.
const lookAgain = time.Second

// missesAllowed is how many rounds in a row an instance may not answer.
const missesAllowed = 3

var errAbsent = errors.New("no instance answers")

// A Service is a micro service as a source of tools. Only its Await, AwaitTool and
// tools block.
type Service struct {
	name  string
	trust bool // its word that an endpoint is read-only counts
	nc    *nats.Conn
	opts  Options
	log   zerolog.Logger

	instances map[string]*instance // by id; for run alone
	again     chan struct{}        // asks for a round now
	settle    sync.Once
	settled   chan struct{} // closed after the first round
	retired   chan struct{} // closed when the service is not configured any more

	version atomic.Uint64
	mu      sync.Mutex
	tools   []tools.Tool
	faults  []tools.Fault
	present bool          // an instance with endpoints is known
	changed chan struct{} // closed, and replaced, when tools or faults change
}

var _ tools.Source = (*Service)(nil)

func newService(nc *nats.Conn, name string, trust bool, opts Options) *Service {
	return &Service{
		name: name, trust: trust, nc: nc, opts: opts, log: opts.Log.With().Str("service", name).Logger(),
		instances: map[string]*instance{}, again: make(chan struct{}, 1), settled: make(chan struct{}), retired: make(chan struct{}),
		changed: make(chan struct{}),
	}
}

// Name says which service it is, for people.
func (s *Service) Name() string { return fmt.Sprintf("service %q", s.name) }

// Version changes after Tools or Faults have.
func (s *Service) Version() uint64 { return s.version.Load() }

// Tools are the service's endpoints as far as they are known, named
// `<service>.<endpoint>`.
func (s *Service) Tools() []tools.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tools)
}

// Faults say why the service, or an endpoint of it, is left out or offered
// without its schema; none when all is well.
func (s *Service) Faults() []tools.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.faults)
}

// Await waits until Run has looked for the service once, or ctx has ended.
func (s *Service) Await(ctx context.Context) {
	select {
	case <-s.settled:
	case <-ctx.Done():
	}
}

// AwaitTool waits until the service has the tool, or is there without it:
// tools.ErrNoTool. When ctx ends first, the error says what is amiss.
func (s *Service) AwaitTool(ctx context.Context, tool string) error {
	if !strings.HasPrefix(tool, s.name+".") {
		return tools.ErrNoTool
	}
	again := time.NewTicker(lookAgain)
	defer again.Stop()
	for s.Look(); ; {
		s.mu.Lock()
		list, present, changed := s.tools, s.present, s.changed
		s.mu.Unlock()
		if slices.ContainsFunc(list, func(t tools.Tool) bool { return t.Name == tool }) {
			return nil
		}
		if present {
			return tools.ErrNoTool
		}
		select {
		case <-changed:
		case <-again.C:
			s.Look()
		case <-s.retired:
			return tools.ErrNoTool
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", s.Name(), errAbsent)
		}
	}
}

// Look asks for a round now, without waiting for it.
func (s *Service) Look() {
	select {
	case s.again <- struct{}{}:
	default:
	}
}

func (s *Service) run(ctx context.Context) {
	ticks := time.NewTicker(s.opts.Every)
	defer ticks.Stop()
	for {
		if err := s.round(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn().Err(err).Msg("look for a service: failed")
		}
		s.settle.Do(func() { close(s.settled) })
		select {
		case <-ticks.C:
		case <-s.again:
		case <-s.retired:
			return
		case <-ctx.Done():
			return
		}
	}
}

// round asks who is there, and forgets who has not been for some rounds.
func (s *Service) round(ctx context.Context) error {
	answers, err := s.ask(ctx)
	if ctx.Err() != nil || err != nil {
		return err // it says nothing about the service
	}
	for id, i := range s.instances {
		if _, ok := answers[id]; ok {
			continue
		}
		if i.missed++; i.missed >= missesAllowed {
			delete(s.instances, id)
		}
	}
	for id, info := range answers {
		s.seen(ctx, id, info)
	}
	s.publish(merge(s.instances))
	return nil
}

// publish makes what the instances offer the tools.
func (s *Service) publish(endpoints []endpoint) {
	var list []tools.Tool
	var faults []tools.Fault
	for _, e := range endpoints {
		tool, err := e.tool(s.name, s.trust)
		if err != nil {
			faults = append(faults, tools.Fault{Source: s.Name(), Tool: s.name + "." + e.name, Err: err})
		}
		if tool.Name == "" {
			continue
		}
		tool.Run = func(ctx context.Context, call tools.Call) (tools.Result, error) {
			return s.call(ctx, e, call)
		}
		list = append(list, tool)
	}
	if len(endpoints) == 0 {
		faults = append(faults, tools.Fault{Source: s.Name(), Err: errAbsent})
	}
	s.mu.Lock()
	differs := !sameTools(s.tools, list) || !sameFaults(s.faults, faults)
	s.tools, s.faults, s.present = list, faults, len(endpoints) > 0
	if differs {
		s.version.Add(1)
		close(s.changed)
		s.changed = make(chan struct{})
	}
	s.mu.Unlock()
	if differs {
		s.log.Info().Int("tools", len(list)).Msg("service has changed")
		for _, f := range faults {
			if f.Tool != "" {
				s.log.Warn().Str("tool", tools.ShownName(f.Tool)).Err(f.Err).Msg("endpoint of a service has a fault")
			}
		}
		if s.opts.Changed != nil {
			s.opts.Changed()
		}
	}
}

// sameTools does not look at Run: for one endpoint of one subject it does the
// same.
func sameTools(a, b []tools.Tool) bool {
	bare := func(list []tools.Tool) []tools.Tool {
		var all []tools.Tool
		for _, t := range list {
			t.Run = nil
			all = append(all, t)
		}
		return all
	}
	return reflect.DeepEqual(bare(a), bare(b))
}

func sameFaults(a, b []tools.Fault) bool {
	return slices.EqualFunc(a, b, func(a, b tools.Fault) bool { return a.Error() == b.Error() })
}
