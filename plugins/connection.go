package plugins

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"agenthost/bus"
)

const (
	// grace is for deliveries under way when a term ends: a platform has 30 s to answer a
	// message, and the answer is noted. How long a host may take to stop is fitted to it,
	// see deploy.
	grace         = 35 * time.Second
	reconnectMost = time.Minute
	reconnectGood = time.Minute // a connection that lasted so long was a good one
	loginEvery    = 5 * time.Minute
)

// A term is the time in which this host owns the account.
type term struct {
	c      *Courier
	outbox *outbox
	// work ends with the term; open ends before, when no delivery may begin any more.
	work, open       context.Context
	endWork, endOpen context.CancelFunc
	gate             gate
	lease            lease
	refusal          refusal
	activities       *activities
	running          sync.WaitGroup
}

func newTerm(c *Courier) *term {
	t := &term{c: c}
	t.work, t.endWork = context.WithCancel(context.Background())
	t.open, t.endOpen = context.WithCancel(t.work)
	t.outbox, t.activities = newOutbox(t), newActivities(t)
	t.outbox.waitForOlder()
	c.status.owns(t.outbox.waiting)
	c.status.set(StateConnecting)
	c.term.Store(t)
	messages := t.activities.subscribe()
	t.running.Go(t.connect)
	t.running.Go(t.outbox.extend)
	t.running.Go(func() { t.activities.watch(messages) })
	return t
}

// abort ends the term at once: another host may own the account already.
func (t *term) abort() {
	t.endWork()
	t.outbox.workers.Wait()
	t.running.Wait()
	t.c.term.CompareAndSwap(t, nil)
	t.c.status.owns(nil)
}

// end ends the term in good order.
func (t *term) end() {
	t.endOpen()
	timer := time.AfterFunc(grace, t.endWork)
	t.outbox.workers.Wait()
	timer.Stop()
	t.abort()
}

// connect keeps the account logged in.
func (t *term) connect() {
	status, pause := t.c.status, time.Second
	ctx := t.work
	if t.c.channel.Limits().Drains {
		ctx = t.open
	}
	for ctx.Err() == nil {
		status.set(StateConnecting)
		err := t.run(ctx)
		lasted := t.gate.shut()
		if ctx.Err() != nil {
			return
		}
		if login, ok := errors.AsType[*LoginError](err); ok {
			t.c.log.Error().Err(login).Dur("retry_in", loginEvery).Msg("log in: refused by the platform")
			status.failed(StateRefused, login)
			bus.Pause(ctx, loginEvery)
			continue
		}
		if lasted >= reconnectGood {
			pause = time.Second
		}
		wait := pause
		if limit, ok := errors.AsType[*RateLimitError](err); ok && limit.After > 0 {
			wait = min(limit.After, longestLimit)
		}
		t.c.few.Warn().Err(err).Dur("retry_in", wait).Msg("connection to the platform: lost")
		status.failed(StateRetrying, err)
		bus.Pause(ctx, wait)
		pause = min(2*pause, reconnectMost)
	}
}

// run runs the channel once. A panic of it is an error.
func (t *term) run(ctx context.Context) (err error) {
	defer recovered(t.c, "run", &err)
	if err := t.c.channel.Run(ctx, t.c.inbox); err != nil {
		return err
	}
	return errors.New("the channel has ended the connection")
}

// recovered makes an error of a panic of the channel.
func recovered(c *Courier, what string, err *error) {
	if p := recover(); p != nil {
		c.few.Error().Str("panic", fmt.Sprint(p)).Bytes("stack", debug.Stack()).Msg("channel " + what + ": panicked")
		*err = fmt.Errorf("the channel has panicked: %v", p)
	}
}

// connected is called by the channel once it is logged in.
func (t *term) connected(as string) {
	if t.gate.open() {
		t.refusal.end()
		t.c.log.Info().Str("as", as).Msg("connected to the platform")
	}
	t.c.status.connected(as)
}

// letIn says what has come of a delivery: whether the account may write.
func (t *term) letIn(tried bool, err error) {
	refused, over := t.refusal.settled(tried, err)
	switch {
	case refused:
		t.c.log.Error().Err(err).Dur("retry_in", loginEvery).Msg("deliver reply: the platform does not let the account in")
		t.c.status.failed(StateRefused, err)
	case over && t.gate.isOpen():
		t.c.status.letIn()
	}
}

// A gate is open while the account is logged in.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed while it is open
	since  time.Time
}

// open reports whether it was shut.
func (g *gate) open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.since.IsZero() {
		return false
	}
	g.since = time.Now()
	close(g.waitLocked())
	return true
}

// shut returns for how long it was open.
func (g *gate) shut() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.since.IsZero() {
		return 0
	}
	lasted := time.Since(g.since)
	g.since, g.opened = time.Time{}, nil
	return lasted
}

func (g *gate) isOpen() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return !g.since.IsZero()
}

func (g *gate) waitLocked() chan struct{} {
	if g.opened == nil {
		g.opened = make(chan struct{})
	}
	return g.opened
}

// wait is closed once the gate is open.
func (g *gate) wait() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waitLocked()
}
