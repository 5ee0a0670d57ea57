package engine

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/behaviors"
	"agenthost/agents/internal/budget"
	"agenthost/agents/internal/conversation"
	"agenthost/agents/internal/gate"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/intake"
	"agenthost/agents/internal/parts"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/session"
	"agenthost/session/inmemory"
)

// A Runtime is one configured agent at work. It shares nothing that changes
// with other agents.
type Runtime struct {
	id    string
	agent *inflight.Agent
	parts *Parts

	sessions *inmemory.Manager[*conversation.Conversation]
	sweep    func() // begins to drop idle sessions; an agent without messages has none
	sweeper  sync.WaitGroup
	endSweep context.CancelFunc
	inbox    chan *delivery.Delivery
	marks    chan func()   // called when the inbox is empty
	closed   chan struct{} // when nothing more is taken from inbox
	topics   behaviors.Topics

	shared conversation.Shared
	slots  *slots // which partitions share
	ticks  ticks

	whole    *Runtime                 // of a partition: the agent that it is one of
	division atomic.Pointer[division] // into partitions; nil: there never were any
	mu       sync.Mutex
	begun    bool // it runs, or has run; guarded by mu
}

// New makes the runtime of an agent.
func New(cfg agents.Config, kit Kit, parts *Parts) *Runtime {
	agent := &inflight.Agent{ID: cfg.ID, Parts: parts}
	agent.Profile.Store(profile.New(cfg, kit, parts.Peers))
	r := newRuntime(agent, nil, cfg.Session)
	agent.Ledger = budget.NewLedger(budget.Options{
		Agent: cfg.ID, Host: parts.Host, JS: parts.JS, Reader: parts.Reader, Publisher: parts.Publisher, Log: &parts.Log,
		TTL: reservationTTL(r.now()), Alerts: func() budget.Alerts { return r.now().Alerts() },
	})
	if cfg.Partitions > 0 {
		r.divide(cfg.Partitions)
	}
	return r
}

// newRuntime makes the runtime of an agent, or of a partition of whole.
func newRuntime(agent *inflight.Agent, whole *Runtime, sessions session.Config) *Runtime {
	r := &Runtime{
		id: agent.ID, agent: agent, parts: agent.Parts, whole: whole, inbox: make(chan *delivery.Delivery, inboxSize), closed: make(chan struct{}),
		marks: make(chan func()),
	}
	r.shared.Agent, r.shared.Scheduler = agent, r
	if whole == nil {
		r.slots, r.shared.Suspects, r.shared.Retired = &slots{}, &gate.Gate[parts.Suspect]{}, make(chan struct{})
	} else {
		r.slots, r.shared.Suspects, r.shared.Retired = whole.slots, whole.shared.Suspects, whole.shared.Retired
	}
	r.shared.Intake = &intake.Intake{
		Agent: r.id, Parts: r.parts, Now: r.now, IsOrder: inflight.Session{Agent: r.agent}.IsOrder,
		Work: func() context.Context { return r.agent.Work }, Busy: &r.shared.Busy,
	}
	if whole != nil {
		r.shared.Intake.Whole = whole.shared.Intake
	}
	r.sessions = inmemory.NewManager(inmemory.Options[*conversation.Conversation]{
		TTL: sessions.TTL, Max: sessions.Max,
		New:      func(key session.Key) *conversation.Conversation { return conversation.New(&r.shared, key) },
		OnExpire: func(_ session.Key, c *conversation.Conversation, reason inmemory.Reason) { c.Expired(reason) },
	})
	sweeping, end := context.WithCancel(context.Background())
	r.endSweep = end
	r.sweep = sync.OnceFunc(func() {
		r.sweeper.Go(func() { _ = r.sessions.Run(sweeping) })
	})
	return r
}

// Change gives the agent other settings, as New takes them. A turn under way
// ends with those it began with.
func (r *Runtime) Change(cfg agents.Config, kit Kit) {
	r.agent.Profile.Store(profile.New(cfg, kit, r.parts.Peers))
	r.topics.Update(r.agent)
	r.agent.Ledger.Retain(reservationTTL(r.now()))
	if cfg.Partitions > 0 {
		r.divide(cfg.Partitions)
	}
	r.sessions.Limit(cfg.Session.TTL, cfg.Session.Max)
	for _, p := range r.all()[1:] {
		p.sessions.Limit(cfg.Session.TTL, shareOf(cfg.Session.Max, cfg.Partitions))
	}
	if d := r.division.Load(); d != nil {
		d.Wake()
	}
	r.useSlots()
}

// reservationTTL is how long an unrefreshed reservation stays valid: no call
// outlives its run.
func reservationTTL(p *profile.Profile) time.Duration {
	return p.Config.Limits.RunTimeout + time.Minute
}

// ID is the agent's id.
func (r *Runtime) ID() string { return r.id }

// Bindings are the subjects on which plugins reach the agent.
func (r *Runtime) Bindings() []string {
	channels := r.now().Config.Channels
	subjects := make([]string, len(channels))
	for i, b := range channels {
		subjects[i] = b.Subject()
	}
	return subjects
}

// Doors are those that lead to the agent.
func (r *Runtime) Doors() []string { return r.now().Config.ReachedBy() }

// ShadowOf is the agent that it shadows; mostly none.
func (r *Runtime) ShadowOf() string { return r.now().Config.ShadowOf }

// Run works until ctx ends, or the agent is retired. Then it takes nothing more and returns when the
// runs in progress have ended, or when work ends and they have been given up;
// what is given up, or not begun, stays unacknowledged.
func (r *Runtime) Run(ctx, work context.Context) error {
	if r.whole != nil {
		r.runPartition(ctx)
		return nil
	}
	r.begin(work)
	begun := make(chan struct{})
	go func() { // elsewhere, so that the stack of an agent at rest stays small
		defer close(begun)
		r.parts.Event(r.id, "started", nil)
		r.now().WarnUnpriced(*r.agent.Log())
		if r.now().HasBudget() {
			r.agent.Ledger.Open(time.Now())
		}
		r.topics.Open(ctx, r.agent)
	}()
	<-begun
	r.receive(ctx)
	r.topics.Stop()
	close(r.closed)
	r.endQueued(ctx)
	r.leaveAll()
	r.topics.Wait()
	if d := r.division.Load(); d != nil && !r.shared.IsRetired() {
		d.leave()
	}
	r.agent.Ledger.Close()
	r.parts.Event(r.id, "stopped", nil)
	return nil
}

// begin says that the agent runs, until work ends.
func (r *Runtime) begin(work context.Context) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.agent.Work, r.begun = work, true
	if d := r.division.Load(); d != nil {
		close(d.running.begun)
	}
}

// leaveAll gives up what is not begun, and waits for what is.
func (r *Runtime) leaveAll() {
	r.mu.Lock()
	r.shared.Stopping.Store(true) // Agree begins nothing from here on
	r.mu.Unlock()
	if d := r.division.Load(); d != nil {
		d.Wake()
	}
	r.leaveInbox()
	r.leaveReady()
	r.leaveBlocked()
	r.shared.DismissSuspects()
	r.shared.Busy.Wait()
	r.sweep() // in any case: it leaves nothing behind, now or later
	r.endSweep()
	r.sweeper.Wait()
	r.shared.Ends.Wait()
}

// Status reports what the agent is doing.
func (r *Runtime) Status() agents.Status {
	s := agents.Status{
		ID: r.id, Description: r.now().Config.Description, ShadowOf: r.now().Config.ShadowOf, Doors: r.now().Config.Doors,
		Running: r.slots.inUse(),
	}
	s.Channels = []string{}
	for _, b := range r.now().Config.Channels {
		s.Channels = append(s.Channels, strings.TrimPrefix(b.Subject(), bus.InboundPrefix))
	}
	r.addPauses(&s)
	for _, p := range r.all() {
		s.Sessions += p.sessions.Len()
		s.InFlight += p.sessions.InFlight()
		s.Queued += p.shared.Queued.Load()
		s.Suspects += p.shared.SuspectsWaiting()
	}
	return s
}

// addPauses says what is paused of the agent, or of the channels that it is bound to.
func (r *Runtime) addPauses(s *agents.Status) {
	channels, all := r.parts.Pauses.OfChannels(s.Channels)
	for _, p := range channels {
		s.PausedChannels = append(s.PausedChannels, p.Channel)
	}
	if p, ok := r.parts.Pauses.Of(r.id); ok {
		s.Paused = p.Words()
	} else if all {
		s.Paused = channels[0].Words()
	}
}

// now is the profile of the agent that the next turn goes by, or one of its
// bindings'.
func (r *Runtime) now() *profile.Profile { return r.agent.Now() }

// Retire has the runtime of an agent that was removed from the configuration end:
// the runs under way go on, what waits behind them is answered with an error.
func (r *Runtime) Retire() { close(r.shared.Retired) }

// endQueued waits until every message that a removed agent has taken is answered, or
// ctx ends.
func (r *Runtime) endQueued(ctx context.Context) {
	if !r.shared.IsRetired() {
		return
	}
	r.acceptInbox()
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		r.shared.Busy.Wait()
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}
