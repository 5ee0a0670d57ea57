package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	triesPerLink  = 3
	firstWait     = 250 * time.Millisecond
	longestWait   = 8 * time.Second
	maxRetryAfter = 60 * time.Second
	// patience is how long a run waits, in all, for models that are shut.
	patience = 60 * time.Second
)

var (
	errNoLinks  = errors.New("no model is configured")
	errNoFinish = errors.New("stream ended without a finish")
	errLeft     = errors.New("reader left the stream")
	errPanic    = errors.New("the caller broke down")
	errEndless  = fmt.Errorf("answer is longer than %d MiB", longestAnswer>>20)
	errEmpty    = errors.New("answer has neither text nor a tool call")
	errSpent    = errors.New("answer reached its longest length before its first word; raise max_tokens, or lower effort")
)

// A Link is one entry of a Chain.
type Link struct {
	Name     string // of the provider, as in Part.Provider and in the log
	Model    string // replaces the Model of a request; empty: the request's own
	Provider Provider

	// Gate is shared by all links to the same model; nil: each stream has one of
	// its own.
	Gate *Gate
	// Refresh makes a provider with new credentials after those of the last one
	// were refused. Nil, or a nil provider, when there are none.
	Refresh func(context.Context) (Provider, error)

	Price     *Price // nil: not known, what it does is counted as free
	MaxTokens int    // bounds its answers; 0: unknown

	// Reads reports whether Provider passes the content of an attachment on that is
	// no image; nil: of none.
	Reads func(*Media) bool

	Timeouts Timeouts // of each call; the zero ones do not bound it

	// Hedge is how long a call may take to its first byte before the next link
	// that lets a call through is asked as well: the first to speak gives the
	// answer, the other is cancelled. 0: no other is asked.
	Hedge time.Duration
}

// An Admission is the leave for one attempt.
type Admission struct {
	Expected int64 // what it costs at most, as far as can be told, in micro-cents
	// Settle is called once, with what the attempt has cost; 0 if it was not
	// made. It may be nil.
	Settle func(cost int64)
}

func (a *Admission) settle(cost int64) {
	if a.Settle != nil {
		a.Settle(cost)
	}
	*a = Admission{}
}

// A Chain calls the first of its links that answers. A transient error is
// tried again up to three times in all, after a growing, jittered wait or the
// Retry-After of the provider, a minute at most; then, or when the provider
// will not have us, it is the next link's turn. While this process has no
// descriptor left it waits, until ctx ends. A call that took longer than the
// link's Timeouts is tried again only when the other links have had their turn.
// An answer without text, calls and media is a failure too, unless the request
// allows Silence. Once something can be seen of an answer (text or media) there
// is no second try; what came of reasoning and calls is taken back, by the
// Restart of the next delta. A request that is wrong is wrong everywhere and ends
// the chain.
//
// A link whose gate is shut is passed over at once. When nothing else is left
// the chain waits for the first gate to open, if that is within a minute and
// within the time of the run.
//
// A Chain is safe for concurrent use; its fields must not change meanwhile.
type Chain struct {
	Links []Link

	Observe func(Attempt)       // is told of each attempt of all streams; may be nil
	Redact  func(string) string // takes secrets out of what providers say of errors; may be nil

	// Admit, when it is set, is asked before each attempt; its error is the end
	// of the chain. What Admit expects an attempt to cost is what one costs that
	// says something, or is cancelled as another was faster, and reports no usage.
	Admit func(ctx context.Context, l Link, req Request) (Admission, error)
}

// Stream streams the answer to req. Each attempt is reported once, when it has
// ended and before its last element is passed on; a link that was passed over
// is reported if it is never asked. When all links fail the error is the last
// one's *Error, with the code provider_unavailable if they failed for different
// reasons. The end of ctx also ends a wait.
func (c *Chain) Stream(ctx context.Context, req Request, report func(Attempt)) iter.Seq2[Delta, error] {
	s := &chainStream{ctx: ctx, chain: c, req: req, report: report}
	return s.stream
}

// Reads reports whether one of the models may be shown an attachment by its
// content.
func (c *Chain) Reads(m *Media) bool {
	return m.IsImage() || slices.ContainsFunc(c.Links, func(l Link) bool { return l.Reads != nil && l.Reads(m) })
}

// A chainStream is one run along the chain.
type chainStream struct {
	ctx    context.Context
	chain  *Chain
	req    Request
	report func(Attempt)
	yield  func(Delta, error) bool
	seen   bool          // something has reached the caller that a person may have seen
	stale  bool          // what has reached the caller is of an attempt that failed
	waited time.Duration // for gates
	legs   []leg
	only   [1]leg // mostly all there is
}

// stream passes on what is said in one go along the chain.
func (s *chainStream) stream(yield func(Delta, error) bool) {
	s.yield, s.seen, s.stale, s.waited = yield, false, false, 0
	if err := s.run(); err != nil {
		yield(Delta{}, err)
	}
}

// A leg is how far the run is with one link.
type leg struct {
	Link
	req       Request
	admission Admission // of the attempt that is next or under way
	asked     int
	unreached int // of asked: this process had no descriptor left
	elsewhere int // of asked: another server of the model was left
	refreshed bool
	skipped   bool   // that has been reported
	over      bool   // it is not asked again
	shut      shut   // its gate, when it was looked at last
	err       *Error // what the last attempt ended with; nil: none yet
	backoff   backoff.ExponentialBackOff
}

// run is nil when the caller has seen the end or has left.
func (s *chainStream) run() error {
	if len(s.chain.Links) == 0 {
		return &Error{Code: CodeValidation, Err: errNoLinks}
	}
	legs := s.only[:]
	if n := len(s.chain.Links); n > 1 {
		legs = make([]leg, n)
	}
	for i, l := range s.chain.Links {
		legs[i] = leg{Link: l}
		if l.Gate == nil {
			legs[i].Gate = new(Gate)
		}
	}
	s.legs = legs
	for {
		for i := range legs {
			l := &legs[i]
			if l.over {
				continue
			}
			if served := s.ask(l); served {
				return nil
			}
			if l.over && (s.seen || !movesOn(l.fault())) {
				return l.err
			}
		}
		if !s.await(legs) {
			return s.verdict(legs)
		}
	}
}

// movesOn says whether another provider may do what this one did not.
func movesOn(err *Error) bool {
	switch err.Code {
	case CodeProviderAuth, CodeProviderRateLimit, CodeProviderUnavailable:
		return true
	}
	return err.Transient
}

// ask tries a link until its gate is shut or there is no other try. It reports
// whether the caller has seen the end or has left.
func (s *chainStream) ask(l *leg) (served bool) {
	for {
		if fault := s.admit(s.ctx, l); fault != nil {
			l.err, l.over = fault, true
			return false
		}
		p, shut, err := l.Gate.enter(s.ctx, s.req.Session)
		if err != nil {
			l.admission.settle(0)
			l.err, l.over = Stopped(s.ctx), true
			return false
		}
		if l.shut = shut; shut.why != "" {
			l.admission.settle(0)
			s.skip(l)
			return false
		}
		provider, renewal := l.Gate.current(l.Link)
		fault := s.attempt(l, provider, p)
		if fault == nil {
			return true
		}
		l.err = fault
		switch {
		case s.seen:
			l.over = true
		case fault.Code == CodeProviderAuth:
			l.over = !s.refresh(l, renewal)
		case fault.Exhausted: // no try: the model was not reached, and the next one would not be either
			l.unreached++
			s.pause(l, fault)
		case fault.Elsewhere:
			l.elsewhere++
		case !fault.Transient || l.tries() >= triesPerLink:
			l.over = true
		case fault.TimedOut:
			return false
		case fault.Code != CodeProviderRateLimit: // after that one the gate is shut
			s.pause(l, fault)
		}
		if l.over {
			return false
		}
	}
}

// admit asks for leave before the gate, so that no call waits for it inside.
func (s *chainStream) admit(ctx context.Context, l *leg) (fault *Error) {
	if l.asked == 0 {
		l.req = requestFor(l.Link, s.req)
	}
	if s.chain.Admit == nil {
		return nil
	}
	admission, err := s.chain.Admit(ctx, l.Link, l.req)
	if err != nil && s.ctx.Err() != nil {
		return Stopped(s.ctx)
	}
	l.admission = admission
	return AsError(err)
}

// tries counts the attempts; the one that led to new credentials was none, those
// that did not reach the model were none, and those that another of its servers
// may do at once.
func (l *leg) tries() int {
	tries := l.asked - l.unreached - l.elsewhere
	if l.refreshed {
		tries--
	}
	return tries
}

// refresh looks once for new credentials.
func (s *chainStream) refresh(l *leg, renewal int) bool {
	if l.refreshed || l.Refresh == nil {
		return false
	}
	l.refreshed = true
	return l.Gate.refresh(s.ctx, l.Link, renewal)
}

// pause waits before the next try of the same link.
func (s *chainStream) pause(l *leg, fault *Error) {
	if l.backoff.InitialInterval == 0 {
		l.backoff = backoff.ExponentialBackOff{
			InitialInterval: firstWait * 3 / 2, Multiplier: 2, MaxInterval: longestWait * 3 / 4,
			RandomizationFactor: 1. / 3, // from firstWait to longestWait
		}
	}
	d := max(min(l.backoff.NextBackOff(), longestWait), min(fault.RetryAfter, maxRetryAfter))
	if !s.sleep(d, nil) {
		l.err, l.over = Stopped(s.ctx), true
	}
}

// sleep waits for a time or until woken. It is false when ctx has ended.
func (s *chainStream) sleep(d time.Duration, woken <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-woken:
	case <-s.ctx.Done():
	}
	return s.ctx.Err() == nil
}

// skip reports a link that is passed over; one that was asked has said enough.
func (s *chainStream) skip(l *leg) {
	if l.skipped || l.asked > 0 {
		return
	}
	l.skipped = true
	s.tell(Attempt{Entry: l.Gate.Name(), Provider: l.Name, Model: cmp.Or(l.Model, s.req.Model), Skipped: l.shut.why})
}

func (s *chainStream) tell(a Attempt) {
	s.report(a)
	if s.chain.Observe != nil {
		s.chain.Observe(a)
	}
}

// failure is what a broken attempt ends with: cancel wins over every other.
func (s *chainStream) failure(err error) *Error {
	if s.ctx.Err() != nil {
		return Stopped(s.ctx)
	}
	e := AsError(err)
	if s.chain.Redact == nil || e.Err == nil {
		return e
	}
	text := e.Err.Error()
	if clean := s.chain.Redact(text); clean != text {
		c := *e
		c.Err = errors.New(clean)
		return &c
	}
	return e
}
