package agents

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/agents/internal/budget"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/hooks"
	"agenthost/llm"
	"agenthost/session"

	"github.com/rs/zerolog"
)

// A Runtime is one configured agent at work. It shares nothing that changes
// with other agents.
type Runtime struct {
	id      string
	profile atomic.Pointer[profile] // reached through now
	parts   *Parts

	sessions *session.Manager[*conversation]
	sweep    func() // begins to drop idle sessions; an agent nobody spoke to has none
	sweeper  sync.WaitGroup
	endSweep context.CancelFunc
	inbox    chan *delivery.Delivery
	marks    chan func()     // called when the inbox is empty
	closed   chan struct{}   // when nothing more is taken from inbox
	retired  chan struct{}   // closed when the agent is removed
	work     context.Context //nolint:containedctx // what runs are cancelled by, for the life of Run
	stopping atomic.Bool
	busy     sync.WaitGroup // conversations with something to do, and the behaviour's ears
	ears     ears
	ends     sync.WaitGroup // on_session_end hooks

	mu     sync.Mutex
	active int             // conversations that hold a slot
	ready  []*conversation // those that wait for one
	queued atomic.Int64    // messages held
	ticks  ticks

	suspects suspectGate

	ledger  *budget.Ledger
	longest atomic.Int64 // of the answers so far, in tokens
}

const (
	defaultQueueMax = 1000 // of session.Config
	// DefaultWindow is the window of a model that does not say its own.
	DefaultWindow = 128_000
)

// inboxSize lets a lane go on while an agent decodes. All agents have an inbox,
// most of them nothing in it.
const inboxSize = 32

// New makes the runtime of an agent.
func New(cfg Config, kit Kit, parts *Parts) *Runtime {
	r := &Runtime{
		id: cfg.ID, parts: parts, inbox: make(chan *delivery.Delivery, inboxSize), closed: make(chan struct{}),
		retired: make(chan struct{}), marks: make(chan func()),
	}
	r.profile.Store(newProfile(cfg, kit, parts))
	r.ledger = budget.NewLedger(budget.Options{
		Agent: cfg.ID, Host: parts.Host, JS: parts.JS, Reader: parts.Reader, Publisher: parts.Publisher, Log: &parts.Log,
		TTL: reservationTTL(r.now()), Alerts: r.alerts,
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
func (r *Runtime) Change(cfg Config, kit Kit) {
	r.profile.Store(newProfile(cfg, kit, r.parts))
	r.ears.listen(r)
	r.ledger.Retain(reservationTTL(r.now()))
	r.sessions.Limit(cfg.Session.TTL, cfg.Session.Max)
	r.useSlots()
}

// reservationTTL is how long an unrefreshed reservation stays valid: no call
// outlives its run.
func reservationTTL(p *profile) time.Duration { return p.cfg.Limits.RunTimeout + time.Minute }

// log is made when there is something to log: an agent at rest is small.
func (r *Runtime) log() *zerolog.Logger {
	log := r.parts.Log.With().Str("agent", r.id).Logger()
	return &log
}

// ID is the agent's id.
func (r *Runtime) ID() string { return r.id }

// Bindings are the subjects on which plugins reach the agent.
func (r *Runtime) Bindings() []string {
	channels := r.now().cfg.Channels
	subjects := make([]string, len(channels))
	for i, b := range channels {
		subjects[i] = b.Subject()
	}
	return subjects
}

// Subject is what the binding claims.
func (b Binding) Subject() string {
	if b.Instance == "" {
		return bus.InboundPrefix + b.Channel
	}
	return bus.InboundPrefix + b.Channel + "." + b.Instance
}

// takes reports whether the agent is bound to subject, and by which binding.
func (r *Runtime) takes(subject string) (*Binding, bool) {
	if agent, ok := bus.AgentOf(subject); ok {
		return nil, agent == r.id
	}
	channel, instance, _ := bus.Channel(subject)
	channels := r.now().cfg.Channels
	for i := range channels {
		if b := &channels[i]; b.Channel == channel && b.takes(instance) {
			return b, true
		}
	}
	return nil, false
}

// takes reports whether what comes from an instance of its channel is for b.
func (b *Binding) takes(instance string) bool {
	return b.Instance == instance || b.Instance == everyInstance && instance != "" && !strings.Contains(instance, ".")
}

// everyInstance is the instance of a Binding to all that have a name.
const everyInstance = "*"

// Run works until ctx ends, or the agent is retired. Then it takes nothing more and returns when the
// runs in progress have ended, or when work ends and they have been given up;
// what is given up, or not begun, stays unacknowledged.
func (r *Runtime) Run(ctx, work context.Context) error {
	r.work = work
	begun := make(chan struct{})
	go func() { // elsewhere, so that the stack of an agent at rest stays small
		defer close(begun)
		r.parts.event(r.id, "started", nil)
		r.warnUnpriced()
		if r.hasBudget() {
			r.ledger.Open(time.Now())
		}
		r.ears.open(ctx, r)
	}()
	<-begun
	r.receive(ctx)
	r.ears.close()
	close(r.closed)
	r.endQueued(ctx)
	r.stopping.Store(true)
	r.leaveInbox()
	r.leaveReady()
	r.leaveBlocked()
	r.dismissSuspects()
	r.busy.Wait()
	r.sweep() // in any case: it leaves nothing behind, now or later
	r.endSweep()
	r.sweeper.Wait()
	r.ends.Wait()
	r.ledger.Close()
	r.parts.event(r.id, "stopped", nil)
	return nil
}

func (r *Runtime) receive(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.retired:
			return
		case d := <-r.inbox:
			r.sweep()
			r.accept(d)
		case then := <-r.marks:
			r.acceptInbox()
			then()
		}
	}
}

// Offer hands d to the agent, unless it takes nothing more.
func (r *Runtime) Offer(d *delivery.Delivery) {
	select {
	case r.inbox <- d:
	case <-r.closed:
		d.Leave()
	}
}

// acceptInbox accepts all that is in the inbox.
func (r *Runtime) acceptInbox() {
	for len(r.inbox) > 0 {
		r.accept(<-r.inbox)
	}
}

// afterInbox has then called once all that was offered by now is accepted, unless
// the agent stops before that.
func (r *Runtime) afterInbox(then func()) {
	go func() {
		select {
		case r.marks <- then:
		case <-r.closed:
		}
	}()
}

// accept queues a delivery with its conversation. It waits for nothing: all agents
// of the lane would wait with it.
func (r *Runtime) accept(d *delivery.Delivery) {
	it, err := newItem(d, r.parts.Publisher.Signer())
	if err != nil {
		r.turnBack(d, err)
		if it == nil {
			it = unread(d)
		}
		if it != nil {
			r.turnBackInbound(it, err)
		}
		r.parts.bury(r.id, d, string(llm.CodeValidation), err.Error(), 0, d.Done)
		return
	}
	if it.binding, _ = r.takes(d.Subject); it.binding != nil {
		it.age(d.Stored)
	}
	switch {
	case r.parts.Beat != nil && it.isTick():
		r.enqueueTick(it)
	case !r.timely(it):
		d.Done()
	case it.interjects():
		r.busy.Go(func() { r.deliverAnswer(it) })
	default:
		r.enqueue(it)
	}
}

// enqueue queues an input with its conversation.
func (r *Runtime) enqueue(it *item) {
	key := it.origin.key(it.input.ID)
	r.checkID(it, key)
	entry := r.sessions.Acquire(key)
	entry.Value.push(it, entry)
}

// schedule gives c a slot, now or when one is free.
func (r *Runtime) schedule(c *conversation) {
	r.mu.Lock()
	if r.active >= r.now().cfg.Limits.Concurrency {
		r.ready = append(r.ready, c)
		r.mu.Unlock()
		return
	}
	r.active++
	r.mu.Unlock()
	r.parts.workers.Do(func() { r.serve(c) })
}

// serve has c work, and in its slot whoever waits for one.
func (r *Runtime) serve(c *conversation) {
	for ; c != nil; c = r.free() {
		c.work()
	}
}

// free gives the slot of a conversation that has nothing to work on just now to
// the one that has waited longest; nil when none does.
func (r *Runtime) free() *conversation {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.ready) == 0 || r.active > r.now().cfg.Limits.Concurrency && !r.stopping.Load() {
		r.active--
		return nil
	}
	c := r.ready[0]
	r.ready[0] = nil
	r.ready = r.ready[1:]
	return c
}

// useSlots starts the conversations that there is a slot for by now.
func (r *Runtime) useSlots() {
	r.mu.Lock()
	most := r.now().cfg.Limits.Concurrency
	n := min(max(most-r.active, 0), len(r.ready))
	begin := slices.Clone(r.ready[:n])
	r.ready = r.ready[n:]
	r.active += n
	r.mu.Unlock()
	for _, c := range begin {
		r.parts.workers.Do(func() { r.serve(c) })
	}
}

// leaveReady sends off the conversations that wait for a slot: with stopping
// set they only give up what they hold.
func (r *Runtime) leaveReady() {
	r.mu.Lock()
	ready := r.ready
	r.ready = nil
	r.active += len(ready)
	r.mu.Unlock()
	for _, c := range ready {
		r.parts.workers.Do(func() { r.serve(c) })
	}
}

// leaveBlocked sends off the conversations that wait for older messages.
func (r *Runtime) leaveBlocked() {
	for entry := range r.sessions.All() {
		entry.Value.unblock()
	}
}

// Status is what an agent is doing.
type Status struct {
	ID          string `json:"id"`
	Description string `json:"description,omitempty"`
	Sessions    int    `json:"sessions"`
	InFlight    int    `json:"inflight"`
	Running     int    `json:"running"`
	Queued      int64  `json:"queued"`
	Suspects    int    `json:"suspects,omitempty"`    // runs that may have ended their host, and wait to be tried again
	SpentToday  int64  `json:"spent_today,omitempty"` // in this UTC day, in micro-cents, all hosts together
	SpentMonth  int64  `json:"spent_month,omitempty"` // the same of this month, where the agent has a budget for one
	ShadowOf    string `json:"shadow_of,omitempty"`
	Serving     bool   `json:"serving,omitempty"` // this host brings it its messages, as far as it knows
}

// Status reports what the agent is doing.
func (r *Runtime) Status() Status {
	r.mu.Lock()
	active := r.active
	r.mu.Unlock()
	return Status{
		ID: r.id, Description: r.now().cfg.Description, ShadowOf: r.now().cfg.ShadowOf, Sessions: r.sessions.Len(),
		InFlight: r.sessions.InFlight(), Running: active, Queued: r.queued.Load(),
		Suspects: r.suspectsWaiting(),
	}
}

// expired tells the hooks that a conversation has left memory. It must not
// wait: it may run inside somebody's Release.
func (r *Runtime) expired(key session.Key, c *conversation, reason session.Reason) {
	if !c.opened() || !c.hooked(hooks.OnSessionEnd) {
		return
	}
	r.ends.Go(func() {
		r.fire(hooks.OnSessionEnd, key, "", hooks.Args{"key": quoted(string(key)), "reason": quoted(reason.String())})
	})
}

// fire calls the hooks of a point with arguments that are at hand.
func (r *Runtime) fire(point string, key session.Key, runID string, args hooks.Args) {
	r.parts.Hooks.Fire(context.WithoutCancel(r.work), hooks.Call{
		Hook: point, Agent: r.id, Session: string(key), Run: runID, Args: args,
	})
}

func quoted(s string) json.RawMessage {
	data, _ := json.Marshal(s) // a string always marshals
	return data
}
