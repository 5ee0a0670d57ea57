package records

import (
	"context"
	"sync"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// copiesFor is how long a Reader takes for granted how many copies a stream has:
// an operator may give it more at any time.
const copiesFor = 10 * time.Second

// copies knows of which streams a direct get may be answered by a copy that lags
// behind: of those with more than one replica, each of which answers.
type copies struct {
	js     jetstream.JetStream
	mu     sync.Mutex
	looked map[string]*look
}

// A look is at the configuration of one stream.
type look struct {
	turn   chan struct{} // holds one who looks at a time
	at     time.Time
	leader bool
}

func (c *copies) of(stream string) *look {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.looked[stream]
	if l == nil {
		l = &look{turn: make(chan struct{}, 1)}
		c.looked[stream] = l
	}
	return l
}

// needLeader reports whether only the leader of a stream may be believed. It is
// so too where no direct gets are allowed: the leader always answers.
func (c *copies) needLeader(ctx context.Context, stream string) (bool, error) {
	l := c.of(stream)
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return false, context.Cause(ctx)
	}
	if !l.at.IsZero() && time.Since(l.at) < copiesFor {
		return l.leader, nil
	}
	asked := time.Now()
	s, err := bus.Again(ctx, func(ctx context.Context) (jetstream.Stream, error) { return c.js.Stream(ctx, stream) })
	if err != nil {
		return false, err
	}
	cfg := s.CachedInfo().Config
	l.at, l.leader = asked, cfg.Replicas > 1 || !cfg.AllowDirect || len(s.CachedInfo().Alternates) > 0
	return l.leader, nil
}
