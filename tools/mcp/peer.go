package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/tools"

	"github.com/cenkalti/backoff/v5"
	"github.com/rs/zerolog"
)

var (
	errClosed   = errors.New("closed")
	errStarting = errors.New("has not answered yet")
)

const (
	firstPause   = 250 * time.Millisecond
	longestPause = 30 * time.Second
	// A server that was up for so long is started again without a pause.
	stable = 10 * time.Second
	// How long a server may take to start and to list its tools: one that is
	// downloaded first takes its time.
	startLimit = 2 * time.Minute
	// Between two lists of a server that goes on saying that its tools have changed.
	firstListPause   = 250 * time.Millisecond
	longestListPause = 10 * time.Second
)

// A peer is one server, whatever the number of names it has.
type peer struct {
	cfg   tools.MCPConfig
	name  string // of its names the first
	opts  Options
	log   zerolog.Logger
	few   zerolog.Logger // log for what a server can have said as often as it likes
	asked inFlight
	// spoken is the version that the last session began with; empty before the
	// first, and after one that failed. For run alone.
	spoken string

	need    sync.Once
	needed  chan struct{} // closed when the server is needed
	settle  sync.Once
	settled chan struct{} // closed when the first list is no longer waited for
	leave   sync.Once
	retired chan struct{} // closed when the server is not configured any more
	version atomic.Uint64

	mu      sync.Mutex
	now     peerState
	changed chan struct{} // closed, and replaced, when now changes
}

// A peerState is what is known of a server. The zero value: it was never needed.
type peerState struct {
	link    *link // nil while not connected
	listing       // the last one; kept while it is started again
	err     error // why there are no tools; nil while connected, and until a new attempt has failed
}

func newPeer(cfg tools.MCPConfig, name string, opts Options) *peer {
	log := opts.Log.With().Str("server", name).Logger()
	return &peer{
		cfg: cfg, name: name, opts: opts, log: log, few: log.Sample(&zerolog.BurstSampler{Burst: 10, Period: 10 * time.Second}),
		needed: make(chan struct{}), settled: make(chan struct{}), changed: make(chan struct{}),
		retired: make(chan struct{}),
	}
}

func (p *peer) state() peerState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// set makes s the state, and tells of it if what Tools or Faults say is other
// than before.
func (p *peer) set(s peerState) {
	p.mu.Lock()
	differs := !p.now.same(s.listing) || fmt.Sprint(p.now.err) != fmt.Sprint(s.err)
	p.now = s
	if differs {
		p.version.Add(1)
	}
	close(p.changed)
	p.changed = make(chan struct{})
	p.mu.Unlock()
	if differs && p.opts.Changed != nil {
		p.opts.Changed()
	}
}

// hear takes what a server that has not answered yet says instead.
func (p *peer) hear(junk string) {
	p.mu.Lock()
	first := p.now.err == errStarting //nolint:errorlint // with what it says it is another
	if first {
		p.now.err = withJunk(errStarting, junk)
		p.version.Add(1)
	}
	p.mu.Unlock()
	if first && p.opts.Changed != nil {
		p.opts.Changed()
	}
}

// wake lets run start the server. The wait for the first list takes no longer than
// patience, counted from the first one.
func (p *peer) wake() {
	p.need.Do(func() {
		p.mu.Lock()
		if p.now.err == nil {
			p.now.err = errStarting
		}
		p.mu.Unlock()
		p.version.Add(1)
		close(p.needed)
		time.AfterFunc(p.opts.Patience, p.settleFirst)
	})
}

func (p *peer) settleFirst() { p.settle.Do(func() { close(p.settled) }) }

// connected waits for a working connection, but not for one that could not be
// made last time.
func (p *peer) connected(ctx context.Context) (*link, error) {
	p.wake()
	ctx, cancel := context.WithTimeoutCause(ctx, p.opts.Patience, errStarting)
	defer cancel()
	for {
		p.mu.Lock()
		s, changed := p.now, p.changed
		p.mu.Unlock()
		if s.link != nil && s.link.ctx.Err() == nil {
			return s.link, nil
		}
		if s.err != nil && !errors.Is(s.err, errStarting) {
			return nil, s.err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// awaitTool waits for a tool with the server's own name, through as many attempts
// to start the server as it takes.
func (p *peer) awaitTool(ctx context.Context, name string) error {
	p.wake()
	for {
		p.mu.Lock()
		s, changed := p.now, p.changed
		p.mu.Unlock()
		switch {
		case slices.ContainsFunc(s.tools, func(t tools.Tool) bool { return t.Name == name }):
			return nil
		case s.link != nil:
			return tools.ErrNoTool
		case errors.Is(s.err, errClosed):
			return errClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return cmp.Or(s.err, errStarting)
		}
	}
}

// retire ends run.
func (p *peer) retire() { p.leave.Do(func() { close(p.retired) }) }

// run keeps the server up from the first need until ctx ends or the server is
// not configured any more.
func (p *peer) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-p.retired:
			cancel()
		case <-ctx.Done():
		}
	}()
	p.keepUp(ctx)
	cancel()
	<-watched
}

func (p *peer) keepUp(ctx context.Context) {
	defer p.settleFirst()
	defer p.set(peerState{err: errClosed})
	select {
	case <-p.needed:
	case <-ctx.Done():
		return
	}
	pause := backoff.ExponentialBackOff{
		InitialInterval: firstPause, Multiplier: 2, MaxInterval: longestPause,
		RandomizationFactor: backoff.DefaultRandomizationFactor,
	}
	for {
		began := time.Now()
		if err := p.live(ctx); ctx.Err() == nil {
			p.log.Warn().Err(err).Msg("MCP server is gone; starting it again until it is back")
		}
		if time.Since(began) > stable && p.state().err == nil {
			pause.Reset()
			continue
		}
		select {
		case <-time.After(pause.NextBackOff()):
		case <-ctx.Done():
			return
		}
	}
}

// live is one life of the server, from its start until it dies or ctx ends.
func (p *peer) live(ctx context.Context) error {
	l, listed, err := p.start(ctx)
	if err != nil {
		p.set(peerState{err: err})
		p.settleFirst()
		return err
	}
	defer l.close()
	defer context.AfterFunc(ctx, func() { l.end(errClosed) })()
	p.log.Info().Int("tools", len(listed.tools)).Msg("MCP server is up")
	p.listed(l, listed)
	p.settleFirst()
	err = p.keep(l)
	p.set(peerState{listing: p.state().listing})
	return err
}

// listed makes the listing of l the state, and logs the faults that are new.
func (p *peer) listed(l *link, now listing) {
	known := p.state().allFaults()
	for _, f := range now.allFaults() {
		if !slices.ContainsFunc(known, func(k tools.Fault) bool { return k.Error() == f.Error() }) {
			p.log.Warn().Str("tool", tools.ShownName(f.Tool)).Err(f.Err).Msg("tool of an MCP server has a fault")
		}
	}
	p.set(peerState{link: l, listing: now})
}

func (p *peer) start(ctx context.Context) (*link, listing, error) {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	l, err := p.connect(ctx)
	if err != nil {
		return nil, listing{}, err
	}
	listed, err := l.list(ctx)
	if err != nil {
		l.close()
		return nil, listing{}, err
	}
	return l, listed, nil
}

// keep follows the changes of the server's tools until the connection ends. A server that says
// without end that they have changed is asked for them with growing pauses.
func (p *peer) keep(l *link) error {
	changed, pause := l.changed, firstListPause
	var over <-chan time.Time // the pause after a list
	var listed time.Time
	for {
		select {
		case <-l.ctx.Done():
			return l.reason(context.Cause(l.ctx))
		case <-changed:
			if time.Since(listed) > longestListPause {
				pause = firstListPause
			}
			p.listAgain(l)
			changed, over, listed = nil, time.After(pause), time.Now()
			pause = min(2*pause, longestListPause)
		case <-over:
			changed, over = l.changed, nil
		case <-l.doubt:
			if err := l.ping(); err != nil {
				l.end(err)
			}
		}
	}
}

func (p *peer) listAgain(l *link) {
	listed, err := l.list(l.ctx)
	if err == nil {
		p.listed(l, listed)
	} else if l.ctx.Err() == nil {
		p.log.Warn().Err(err).Msg("MCP server has other tools but does not list them")
	}
}
