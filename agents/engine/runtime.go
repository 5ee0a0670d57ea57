package engine

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/behaviors"
	"agenthost/agents/internal/budget"
	"agenthost/agents/internal/hookvalue"
	"agenthost/agents/internal/inflight"
	"agenthost/agents/internal/intake"
	"agenthost/agents/internal/profile"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/hooks"
	"agenthost/session"
)

// A Runtime is one configured agent at work. It shares nothing that changes
// with other agents.
type Runtime struct {
	id    string
	agent *inflight.Agent
	parts *Parts

	sessions *session.Manager[*conversation]
	sweep    func() // begins to drop idle sessions; an agent without messages has none
	sweeper  sync.WaitGroup
	endSweep context.CancelFunc
	inbox    chan *delivery.Delivery
	marks    chan func()   // called when the inbox is empty
	closed   chan struct{} // when nothing more is taken from inbox
	retired  chan struct{} // closed when the agent is removed
	stopping atomic.Bool
	yielding atomic.Bool    // its lane goes to another host
	owners   atomic.Uint64  // how often the lane has come from another host
	busy     sync.WaitGroup // conversations with something to do
	topics   behaviors.Topics
	ends     sync.WaitGroup // on_session_end hooks

	mu     sync.Mutex
	active int             // conversations that hold a slot
	ready  []*conversation // those that wait for one
	queued atomic.Int64    // messages held
	ticks  ticks

	suspects suspectGate

	intake *intake.Intake
}

// New makes the runtime of an agent.
func New(cfg agents.Config, kit Kit, parts *Parts) *Runtime {
	r := &Runtime{
		id: cfg.ID, agent: &inflight.Agent{ID: cfg.ID, Parts: parts}, parts: parts, inbox: make(chan *delivery.Delivery, inboxSize), closed: make(chan struct{}),
		retired: make(chan struct{}), marks: make(chan func()),
	}
	r.agent.Profile.Store(profile.New(cfg, kit, parts.Peers))
	r.intake = &intake.Intake{
		Agent: cfg.ID, Parts: parts, Now: r.now, IsOrder: inflight.Session{Agent: r.agent}.IsOrder,
		Work: func() context.Context { return r.agent.Work }, Busy: &r.busy,
	}
	r.agent.Ledger = budget.NewLedger(budget.Options{
		Agent: cfg.ID, Host: parts.Host, JS: parts.JS, Reader: parts.Reader, Publisher: parts.Publisher, Log: &parts.Log,
		TTL: reservationTTL(r.now()), Alerts: func() budget.Alerts { return r.now().Alerts() },
	})
	r.sessions = session.NewManager(session.Options[*conversation]{
		TTL: cfg.Session.TTL, Max: cfg.Session.Max,
		New:      func(key session.Key) *conversation { return newConversation(r, key) },
		OnExpire: r.expired,
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
	r.sessions.Limit(cfg.Session.TTL, cfg.Session.Max)
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

// takes reports whether the agent is bound to subject, and by which binding.
func (r *Runtime) takes(subject string) (*agents.Binding, bool) {
	if agent, ok := bus.AgentOf(subject); ok {
		return nil, agent == r.id
	}
	b := r.now().Binding(subject)
	return b, b != nil
}

// Run works until ctx ends, or the agent is retired. Then it takes nothing more and returns when the
// runs in progress have ended, or when work ends and they have been given up;
// what is given up, or not begun, stays unacknowledged.
func (r *Runtime) Run(ctx, work context.Context) error {
	r.agent.Work = work
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
	r.stopping.Store(true)
	r.leaveInbox()
	r.leaveReady()
	r.leaveBlocked()
	r.dismissSuspects()
	r.busy.Wait()
	r.topics.Wait()
	r.sweep() // in any case: it leaves nothing behind, now or later
	r.endSweep()
	r.sweeper.Wait()
	r.ends.Wait()
	r.agent.Ledger.Close()
	r.parts.Event(r.id, "stopped", nil)
	return nil
}

// Status reports what the agent is doing.
func (r *Runtime) Status() agents.Status {
	r.mu.Lock()
	active := r.active
	r.mu.Unlock()
	paused := ""
	if p, ok := r.parts.Pauses.Of(r.id); ok {
		paused = p.Words()
	}
	return agents.Status{
		ID: r.id, Description: r.now().Config.Description, ShadowOf: r.now().Config.ShadowOf, Doors: r.now().Config.Doors,
		Paused: paused, Sessions: r.sessions.Len(), InFlight: r.sessions.InFlight(), Running: active, Queued: r.queued.Load(),
		Suspects: r.suspectsWaiting(),
	}
}

// expired tells the hooks that a conversation has left memory. It must not
// wait: it may run inside a Release.
func (r *Runtime) expired(key session.Key, c *conversation, reason session.Reason) {
	if !c.opened() || !c.Hooked(hooks.OnSessionEnd) {
		return
	}
	r.ends.Go(func() {
		r.agent.Fire(hooks.OnSessionEnd, key, "", hooks.Args{"key": hookvalue.Quoted(string(key)), "reason": hookvalue.Quoted(reason.String())})
	})
}

// now is the profile of the agent that the next turn goes by, or one of its
// bindings'.
func (r *Runtime) now() *profile.Profile { return r.agent.Now() }

func (r *Runtime) shadow() bool { return r.now().Shadow() }
