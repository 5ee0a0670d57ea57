package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	triesPerLink  = 3
	firstWait     = 250 * time.Millisecond
	longestWait   = 8 * time.Second
	maxRetryAfter = 60 * time.Second
)

var (
	errNoLinks  = errors.New("no model is configured")
	errNoFinish = errors.New("stream ended without a finish")
	errLeft     = errors.New("reader left the stream")
)

// A Link is one entry of a Chain.
type Link struct {
	Name     string // of the provider, as in Part.Provider and in the log
	Model    string // replaces the Model of a request; empty: the request's own
	Provider Provider
}

// An Attempt is one call of one link.
type Attempt struct {
	Provider string
	Model    string
	Number   int // of this link, from 1
	Usage    Usage
	Took     time.Duration
	Err      error // nil when the model finished, else an *Error
}

// A Chain calls the first of its links that answers. A transient error is
// tried again up to three times in all, after a growing, jittered wait or the
// Retry-After of the provider, a minute at most; then, or when the provider
// will not have us, it is the next link's turn. Once something has been said
// (text, reasoning, a call, media) there is no second try. A request that is
// wrong is wrong everywhere and ends the chain.
//
// A Chain is safe for concurrent use; its links must not change meanwhile.
type Chain struct {
	Links []Link
}

// Stream streams the answer to req. Each attempt is reported once, when it has
// ended and before its last element is passed on. When all links fail the
// error is the last one's *Error, with the code provider_unavailable if they
// failed for different reasons. The end of ctx also ends a wait.
func (c *Chain) Stream(ctx context.Context, req Request, report func(Attempt)) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		s := chainStream{ctx: ctx, req: req, report: report, yield: yield}
		if err := s.links(c.Links); err != nil {
			yield(Delta{}, err)
		}
	}
}

// A chainStream is one run along the chain.
type chainStream struct {
	ctx    context.Context
	req    Request
	report func(Attempt)
	yield  func(Delta, error) bool
	said   bool // something has reached the caller
}

// links is nil when the caller has seen the end or has left.
func (s *chainStream) links(links []Link) error {
	last := &Error{Code: CodeValidation, Err: errNoLinks}
	mixed := false
	for i, l := range links {
		err := s.link(l)
		if err == nil {
			return nil
		}
		if s.said || !movesOn(err) {
			return err
		}
		mixed = mixed || i > 0 && err.Code != last.Code
		last = err
	}
	if mixed {
		all := *last
		all.Code = CodeProviderUnavailable
		return &all
	}
	return last
}

// movesOn says whether another provider may do what this one did not.
func movesOn(err *Error) bool {
	switch err.Code {
	case CodeProviderAuth, CodeProviderRateLimit, CodeProviderUnavailable:
		return true
	}
	return err.Transient
}

func (s *chainStream) link(l Link) *Error {
	req := requestFor(l, s.req)
	wait := backoff.ExponentialBackOff{
		InitialInterval: firstWait, Multiplier: 2, MaxInterval: longestWait,
		RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
	for n := 1; ; n++ {
		err := s.attempt(l, req, n)
		if err == nil || s.said || !err.Transient || n == triesPerLink {
			return err
		}
		pause := max(min(wait.NextBackOff(), longestWait), min(err.RetryAfter, maxRetryAfter))
		if err := s.wait(pause); err != nil {
			return err
		}
	}
}

func (s *chainStream) wait(d time.Duration) *Error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.ctx.Done():
		return Stopped(s.ctx)
	}
}

// attempt calls the provider once; nil means that the caller has seen the end
// or has left.
func (s *chainStream) attempt(l Link, req Request, n int) *Error {
	start := time.Now()
	a := Attempt{Provider: l.Name, Model: req.Model, Number: n}
	end := func(err *Error) *Error {
		a.Took = time.Since(start)
		if err != nil {
			a.Err = err
		}
		s.report(a)
		return err
	}
	var unsent *Usage // what was counted before anything was said: no try yet
	for d, err := range l.Provider.Stream(s.ctx, req) {
		if err != nil {
			return end(s.failure(err))
		}
		if d.Usage != nil {
			a.Usage, unsent = *d.Usage, d.Usage
		}
		if d.Finish != "" {
			d.Usage = unsent
			_ = end(nil)
			s.yield(d, nil)
			return nil
		}
		if !s.said && d.Text == "" && d.Reasoning == "" && d.Meta == nil && d.Call == nil && d.Media == nil {
			continue
		}
		s.said = true
		d.Usage, unsent = unsent, nil
		if !s.yield(d, nil) {
			_ = end(&Error{Code: CodeCancelled, Err: errLeft})
			return nil
		}
	}
	return end(s.failure(Unavailable(fmt.Errorf("%s: %w", l.Name, errNoFinish))))
}

// failure is what a broken attempt ends with: cancel wins over every other.
func (s *chainStream) failure(err error) *Error {
	if s.ctx.Err() != nil {
		return Stopped(s.ctx)
	}
	return AsError(err)
}
