package llm

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"
)

// Timeouts bound the stages of one call of a model. In a Link 0 is no bound; a
// configuration that leaves one out gets the default.
type Timeouts struct {
	Connect time.Duration `yaml:"connect,omitempty" json:"connect,omitempty"` // to the server, TLS included; default 10s
	First   time.Duration `yaml:"first,omitempty" json:"first,omitempty"`     // from the start to the first byte of the answer; default 60s
	Idle    time.Duration `yaml:"idle,omitempty" json:"idle,omitempty"`       // between two bytes of the answer; default 60s
	Call    time.Duration `yaml:"call,omitempty" json:"call,omitempty"`       // from the start to the end; default 10m
}

// The defaults of Timeouts.
const (
	DefaultConnect = 10 * time.Second
	DefaultFirst   = 60 * time.Second
	DefaultIdle    = 60 * time.Second
	DefaultCall    = 10 * time.Minute
)

// OrDefault is t with the defaults in the place of what is 0.
func (t Timeouts) OrDefault() Timeouts {
	return Timeouts{
		Connect: cmp.Or(t.Connect, DefaultConnect),
		First:   cmp.Or(t.First, DefaultFirst),
		Idle:    cmp.Or(t.Idle, DefaultIdle),
		Call:    cmp.Or(t.Call, DefaultCall),
	}
}

// bounded reports whether a call has to be watched. Connect is the transport's.
func (t Timeouts) bounded() bool { return t.First > 0 || t.Idle > 0 || t.Call > 0 }

// A timeout is the cause that the ctx of a call ends with when it took too long.
type timeout struct {
	what  string // "no first byte"
	after time.Duration
}

func (t *timeout) Error() string { return fmt.Sprintf("%s within %v", t.what, t.after) }

// A watch cancels a call that takes longer than its timeouts allow. Providers
// that read bytes report them by the ctx of the call; of others the chain
// reports what they yield. A nil watch has no bounds.
type watch struct {
	limits Timeouts
	cancel context.CancelCauseFunc
	start  time.Time

	mu     sync.Mutex
	timer  *time.Timer
	last   time.Time // when something came
	begun  bool      // the answer has
	paused bool      // the caller is at work, not the model
	done   bool
	over   *timeout // what ran out; nil: nothing
}

type watchKey struct{}

// watched is ctx for a call with these limits, and its watch.
func watched(ctx context.Context, limits Timeouts) (context.Context, *watch) {
	if !limits.bounded() {
		return ctx, nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	now := time.Now()
	w := &watch{limits: limits, cancel: cancel, start: now, last: now}
	w.mu.Lock()
	defer w.mu.Unlock()
	at, _ := w.due(now)
	w.timer = time.AfterFunc(at.Sub(now), w.check)
	return context.WithValue(ctx, watchKey{}, w), w
}

// A Progress is where a provider that reads bytes reports them, for the Timeouts
// of its call. The zero Progress ignores them.
type Progress struct{ watch *watch }

// ProgressOf is that of the call that ctx belongs to.
func ProgressOf(ctx context.Context) Progress {
	w, _ := ctx.Value(watchKey{}).(*watch)
	return Progress{w}
}

// Watched reports whether the call has Timeouts.
func (p Progress) Watched() bool { return p.watch != nil }

// Received notes bytes, which may be no part of the answer yet.
func (p Progress) Received() { p.watch.heard() }

// Begun notes the first byte of the answer, or a further one.
func (p Progress) Begun() { p.watch.begin() }

// due is when the next limit runs out, and which; with none left, never.
func (w *watch) due(now time.Time) (at time.Time, what timeout) {
	sooner := func(since time.Time, limit time.Duration, stage string) {
		if t := since.Add(limit); limit > 0 && (at.IsZero() || t.Before(at)) {
			at, what = t, timeout{stage, limit}
		}
	}
	sooner(w.start, w.limits.Call, "no end of the answer")
	switch {
	case w.paused:
		sooner(now, w.limits.Idle, "")
	case w.begun:
		sooner(w.last, w.limits.Idle, "nothing more of the answer")
	default:
		sooner(w.start, w.limits.First, "no first byte of the answer")
	}
	return at, what
}

// check ends the call when a limit has run out, and else waits for the next.
func (w *watch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	at, what := w.due(now)
	switch {
	case w.done || w.over != nil || at.IsZero():
	case at.After(now):
		w.timer.Reset(at.Sub(now))
	default:
		w.over = &what
		w.cancel(w.over)
	}
}

// heard takes note of bytes; the first may be no part of the answer yet.
func (w *watch) heard() {
	if w == nil {
		return
	}
	w.mu.Lock()
	w.last = time.Now()
	w.mu.Unlock()
}

// begin takes note of the first byte of the answer. The timer may have been set
// for later than the idle limit now allows.
func (w *watch) begin() {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = time.Now()
	if w.begun {
		return
	}
	w.begun = true
	if at, _ := w.due(w.last); !at.IsZero() && !w.done && w.over == nil {
		w.timer.Reset(at.Sub(w.last))
	}
}

// pause stops the idle limit while the caller takes what came.
func (w *watch) pause() {
	w.begin()
	w.setPaused(true)
}

func (w *watch) resume() { w.setPaused(false) }

func (w *watch) setPaused(paused bool) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paused, w.last = paused, time.Now()
}

// hasBegun reports whether the answer has begun.
func (w *watch) hasBegun() bool {
	if w == nil {
		return false
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun
}

// stop ends the watch. It returns what had run out before, nil if nothing had.
func (w *watch) stop() *timeout {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.done {
		w.done = true
		w.timer.Stop()
		w.cancel(nil)
	}
	return w.over
}
