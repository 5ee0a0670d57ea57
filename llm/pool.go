package llm

import (
	"context"
	"errors"
	"iter"
	"sync"
	"time"
)

// A Pool is several servers of one model, which share its load: a call goes to
// the one with the fewest under way, in turns where they are equal. One that
// fails is avoided for ten seconds, then for twice as long each time, two minutes
// at most; one with a rate limit for as long as it says. With none left the one
// is asked whose time is up first.
type Pool struct {
	mu      sync.Mutex
	servers []*server
	last    int // that was asked
}

type server struct {
	provider Provider
	underWay int
	pause    time.Duration // after its last failure; 0: its last call was good
	until    time.Time     // it is avoided
}

// NewPool makes a Pool of providers, of which there is one at least.
func NewPool(providers ...Provider) *Pool {
	p := &Pool{last: len(providers) - 1}
	for _, one := range providers {
		p.servers = append(p.servers, &server{provider: one})
	}
	return p
}

// Stream streams the answer of one of the servers. Its error is marked Elsewhere
// when another one may be asked at once.
func (p *Pool) Stream(ctx context.Context, req Request) iter.Seq2[Delta, error] {
	return func(yield func(Delta, error) bool) {
		s := p.enter()
		defer p.leave(s)
		s.provider.Stream(ctx, req)(func(d Delta, err error) bool {
			if err != nil {
				err = p.failed(ctx, s, err)
			} else if d.Finish != "" {
				p.answered(s)
			}
			return yield(d, err)
		})
	}
}

func (p *Pool) enter() *server {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, at := time.Now(), -1
	for n := range p.servers {
		if i := (p.last + 1 + n) % len(p.servers); at < 0 || p.servers[i].before(p.servers[at], now) {
			at = i
		}
	}
	p.last = at
	p.servers[at].underWay++
	return p.servers[at]
}

// before reports whether s is to be asked before other.
func (s *server) before(other *server, now time.Time) bool {
	switch free, otherFree := s.free(now), other.free(now); {
	case free != otherFree:
		return free
	case !free:
		return s.until.Before(other.until)
	}
	return s.underWay < other.underWay
}

func (s *server) free(now time.Time) bool { return !now.Before(s.until) }

func (p *Pool) leave(s *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.underWay--
}

func (p *Pool) answered(s *server) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s.pause, s.until = 0, time.Time{}
}

// failed takes note of what a call has ended with.
func (p *Pool) failed(ctx context.Context, s *server, err error) error {
	e := AsError(err)
	_, slow := errors.AsType[*timeout](context.Cause(ctx))
	limited := e.Code == CodeProviderRateLimit
	if !slow && !limited && e.Code != CodeProviderUnavailable {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	s.pause = max(firstOpen, min(2*s.pause, longestOpen))
	s.until = now.Add(s.pause)
	if limited {
		s.until = now.Add(max(e.RetryAfter, defaultPark))
	}
	for _, other := range p.servers {
		if other.free(now) {
			there := *e
			there.Elsewhere = true
			return &there
		}
	}
	return err
}
