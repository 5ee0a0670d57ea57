// Package host makes a running host of a configuration: it knows all parts,
// builds them, starts them in order and stops them in the reverse order.
package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/delivery"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/bus/signing"
	"agenthost/bus/streams"
	"agenthost/config"
	"agenthost/hooks"
	"agenthost/internal/lockfile"
	"agenthost/internal/natsserver"
	"agenthost/llm"
	"agenthost/metrics"
	"agenthost/session"
	"agenthost/tools"

	"github.com/rs/zerolog"
)

// Options are what a Host is made of.
type Options struct {
	Config *config.Config
	// Path is where Config was loaded from: a change there is taken over, and a
	// key that was refused is looked up again. Empty: nowhere.
	Path string
	// Load reads the configuration again; nil: from Path.
	Load func() (*config.Config, error)
	// Name is the host's name in its fleet; empty: the machine's, with a number
	// behind it when a host of that name runs from the same data folder.
	Name string
	// Grace is what runs in progress get when the host stops; default 30 s.
	Grace   time.Duration
	Version string
	Log     zerolog.Logger
	// OnHeartbeat hears of the ticks of all agents with a heartbeat, each once in
	// the whole fleet. It may be nil.
	OnHeartbeat func(ctx context.Context, agent string, due time.Time)
	// Behaviors are known to this host besides those of agents.Register, and go
	// before them.
	Behaviors map[string]agents.Factory
}

// DefaultGrace is the default of Options.Grace.
const DefaultGrace = 30 * time.Second

// flushWithin bounds what a stopping host waits for the bus to take what it has
// to say.
const flushWithin = 5 * time.Second

// A Host is one process of a fleet. Make one with New; it does nothing until
// Run.
type Host struct {
	opt   Options
	log   zerolog.Logger
	ready chan struct{}
	bus   atomic.Pointer[bus.Bus]
	fleet atomic.Pointer[agents.Fleet]
	posts atomic.Pointer[publishing.Publisher]
	state atomic.Pointer[string] // why the host is not ready; empty when it is
	http  atomic.Pointer[string] // where HTTP is served

	waiting time.Time       // since when for NATS; set before the state that says so
	signer  *signing.Signer // of route messages; set before anything is served

	secrets     *secrets
	metrics     *metrics.Registry
	descriptors *descriptors

	now     atomic.Pointer[setup]
	refused atomic.Pointer[[]config.Problem] // of the configuration that was read last
	orders  chan order
	over    chan struct{} // closed when no order is obeyed any more
}

// A setup is a configuration and what was made of it. It does not change.
type setup struct {
	cfg    *config.Config
	agents []config.Agent // of cfg, as they are served
	models models
	shop   *workshop
	kits   map[string]agents.Kit
	// behaviors are those of agents, with what they lack.
	behaviors map[string]behaving
	faults    map[string]agentFault // by agent
}

// New makes a Host.
func New(opt Options) *Host {
	opt.Grace = cmp.Or(opt.Grace, DefaultGrace)
	h := &Host{opt: opt, log: opt.Log, ready: make(chan struct{}), secrets: &secrets{}, metrics: metrics.New(), descriptors: newDescriptors(opt.Log), orders: make(chan order), over: make(chan struct{})}
	h.secrets.of(opt.Config)
	h.refused.Store(&[]config.Problem{})
	h.setState(stateStarting)
	return h
}

// Ready is closed when the host serves its agents.
func (h *Host) Ready() <-chan struct{} { return h.ready }

// URL is where NATS clients reach the embedded server, empty when there is none
// with a port. It is known when the host is ready.
func (h *Host) URL() string {
	if b := h.bus.Load(); b != nil {
		return b.URL()
	}
	return ""
}

// Bus is the host's own connection; nil until the host has opened it.
func (h *Host) Bus() *bus.Bus { return h.bus.Load() }

// States of a host that is not ready; while it waits it has not found a NATS
// that it can use, and when it stops it takes nothing more.
const (
	stateStarting = "starting"
	stateWaiting  = "waiting for NATS"
	stateStopping = "stopping"
)

func (h *Host) setState(s string) { h.state.Store(&s) }

// Run serves until ctx ends. Then it takes nothing more, gives runs in progress
// the time of Grace to end, says what there is to say, and returns.
func (h *Host) Run(ctx context.Context) error {
	takeName := func() (func(), error) { return h.takeName(ctx) }
	release, err := takeName()
	if err != nil && !natsserver.OutOfSpace(err) {
		return err
	}
	defer h.serveHTTP(ctx)()
	if err != nil {
		release, err = awaitSpace(ctx, h, takeName)
	}
	if err == nil {
		defer release()
		err = h.open(ctx)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil // stopped before it was up
	}
	return err
}

// open connects to NATS and serves until ctx ends.
func (h *Host) open(ctx context.Context) error {
	b, err := awaitSpace(ctx, h, func() (*bus.Bus, error) {
		return bus.Open(ctx, bus.Options{Name: h.opt.Name, Log: h.log, Config: h.opt.Config.NATS})
	})
	if err != nil {
		return err
	}
	defer b.Close()
	h.bus.Store(b)
	h.waiting = time.Now() // a reader has seen the state that follows
	defer h.watchStores(ctx, b)()
	h.setState(stateWaiting)
	return h.serve(ctx, b)
}

func (h *Host) serve(ctx context.Context, b *bus.Bus) error {
	if err := b.Ready(ctx); err != nil {
		return err
	}
	if err := h.provision(ctx, b); err != nil {
		return err
	}
	h.setState(stateStarting)
	posts, endPosts := context.WithCancel(context.WithoutCancel(ctx))
	defer endPosts()
	parts, installed, stopParts, err := h.parts(posts, b)
	if err != nil {
		return err
	}
	defer stopParts()
	sources := h.newSources(b)
	now, apply, err := h.setup(h.opt.Config, sources)
	if err != nil {
		return err
	}
	apply()
	defer sources.start()()
	h.now.Store(now)
	h.sayTools(now)
	h.sayFaults(now)
	h.metrics.Gates(func() []*llm.Gate { return h.now.Load().models.gates() })
	wakers := h.newWakers(b, parts)
	runtimes := make([]*agents.Runtime, len(now.agents))
	for i, a := range now.agents {
		runtimes[i] = agents.New(a.Config, now.kits[a.ID], parts)
	}
	fleet := agents.NewFleet(b.JS, parts, delivery.LaneCount(h.opt.Config.NATS.Lanes), runtimes)
	h.fleet.Store(fleet)
	h.metrics.Suspects(fleet.Suspects)
	wakers.start(now.cfg)
	defer func() { wakers.stop() }() // those that run by then
	stopService, err := h.serveMicro(b, wakers)
	if err != nil {
		return err
	}
	defer stopService()
	h.warnUnbuilt()
	work, stopping := h.work(ctx)
	context.AfterFunc(work, func() { time.AfterFunc(flushWithin, endPosts) }) // what no stream takes holds up no stop
	ended := make(chan error, 1)
	go func() { ended <- fleet.Run(ctx, work) }()
	if fleet.Up(ctx) == nil && wakers.up(ctx) {
		r := &reloader{Host: h, parts: parts, fleet: fleet, sources: sources, wakers: wakers, hooks: installed}
		defer r.start(ctx)()
		defer h.sweepSessions(ctx, b, fleet)()
		h.setState("")
		close(h.ready)
		h.log.Info().Str("host", h.opt.Name).Int("agents", len(runtimes)).Str("nats", h.URL()).Str("http", h.httpAddress()).Msg("ready")
	}
	err = <-ended
	if ctx.Err() != nil {
		<-stopping
	}
	h.log.Info().Msg("stopped")
	return err
}

// work is the context of runs: it outlives ctx by the grace. stopping is closed
// once the host has said that it stops.
func (h *Host) work(ctx context.Context) (work context.Context, stopping <-chan struct{}) {
	told := make(chan struct{})
	work, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		h.setState(stateStopping)
		h.log.Info().Dur("grace", h.opt.Grace).Msg("stopping; runs in progress may end")
		close(told)
		time.AfterFunc(h.opt.Grace, func() { cancel(errors.New("the grace is over")) })
	})
	return work, told
}

// provision makes the streams, and the key of the fleet; it tries again while JetStream has no leader.
func (h *Host) provision(ctx context.Context, b *bus.Bus) error {
	cfg := h.opt.Config.NATS
	if err := admitted(ctx, b); err != nil {
		return err
	}
	for {
		try, cancel := context.WithTimeout(ctx, 15*time.Second)
		err := streams.Provision(try, b.JS, cfg.Replicas, cfg.Lanes, h.log)
		if err == nil {
			h.signer, err = signing.Open(try, b.JS)
		}
		cancel()
		if err == nil || !bus.Transient(err) && !errors.Is(err, context.DeadlineExceeded) ||
			errors.Is(err, streams.ErrLanes) || errors.Is(err, bus.ErrUnusable) {
			return err
		}
		h.setState("streams cannot be made: " + err.Error())
		h.log.Warn().Err(err).Msg("streams cannot be made; trying again")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
}

// admitted refuses the embedded server of another host where this one has not
// the token: it would wait for streams that it may not see.
func admitted(ctx context.Context, b *bus.Bus) error {
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	if bus.Anonymous(ctx, b.NC) {
		return fmt.Errorf("use NATS at %s: %w: %s", b.NC.ConnectedAddr(), bus.ErrDenied, bus.LogInHint)
	}
	return nil
}

// parts builds what the agents share, and what must be stopped after them.
// Nothing is published any more once posts ends.
func (h *Host) parts(posts context.Context, b *bus.Bus) (*agents.Parts, *remoteHooks, func(), error) {
	publisher, err := publishing.New(b.NC, h.log)
	if err != nil {
		return nil, nil, nil, err
	}
	publisher.SignWith(h.signer)
	h.posts.Store(publisher)
	installed := &remoteHooks{registry: hooks.New(h.log), nc: b.NC}
	if err := installed.change(nil, h.opt.Config.Hooks); err != nil {
		return nil, nil, nil, err
	}
	reader, files := records.NewReader(b.JS), filestore.New(b.JS)
	payload := int(b.NC.MaxPayload())
	parts := &agents.Parts{
		Host: h.opt.Name, NC: b.NC, JS: b.JS, Publisher: publisher, Reader: reader, Files: files, Hooks: installed.registry,
		MaxPayload: payload, Log: h.log, Peers: &agents.Peers{},
		Store:   &session.Store{Publisher: publisher, Reader: reader, Files: files, Limit: payload / 2, Log: h.log},
		Nearest: config.Nearest, Served: func(ctx context.Context) (agents.Served, error) { return servedBy(ctx, b.NC) },
	}
	parts.Peers.Set(peersOf(h.opt.Config))
	ctx, cancel := context.WithCancel(posts)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = publisher.Run(ctx)
	}()
	return parts, installed, func() {
		flush, stop := context.WithTimeout(context.Background(), flushWithin)
		defer stop()
		if err := publisher.Flush(flush); err != nil {
			h.log.Warn().Err(err).Msg("not everything could be published before the stop; the next owner does it")
		}
		cancel()
		<-done
	}, nil
}

// setup makes of a configuration all that can be wrong with it, and starts
// nothing. What has not changed since the setup that counts now is taken from
// there. apply, called last, makes the sources of tools those of cfg.
//
// What is wrong with one agent is its own affair: it is listed, and the others
// are served.
func (h *Host) setup(cfg *config.Config, sources *sources) (now *setup, apply func(), err error) {
	now = &setup{cfg: cfg, kits: map[string]agents.Kit{}, behaviors: map[string]behaving{}, faults: map[string]agentFault{}}
	if now.shop, apply, err = h.newWorkshop(cfg, sources); err != nil {
		return nil, nil, err
	}
	now.models = h.buildModels(cfg.Models)
	now.agents = served(cfg)
	for _, a := range now.agents {
		kit, fault := h.kit(now, a)
		if a.Behavior != "" {
			b := h.behavior(sources.nc, a)
			kit.Behavior, now.behaviors[a.ID] = b.Behavior, b
			if fault.quarantined { // it must not act, whatever it is made of
				kit.Behavior = unable{err: fault.err}
			}
			if b.err != nil {
				fault = agentFault{err: errors.Join(fault.err, b.err), quarantined: true}
			}
		}
		if now.kits[a.ID] = kit; fault.err != nil {
			now.faults[a.ID] = fault
		}
	}
	return now, apply, nil
}

func (h *Host) sayFaults(now *setup) {
	for _, a := range now.cfg.Agents {
		if fault, ok := now.faults[a.ID]; ok {
			h.log.Error().Str("agent", a.ID).Err(fault.err).Bool("quarantined", fault.quarantined).Msg("agent has a fault; the others are served")
		}
	}
}

// peersOf are the agents of a configuration as others see them.
func peersOf(cfg *config.Config) []agents.Peer {
	var list []agents.Peer
	for _, a := range cfg.Agents {
		if a.ShadowOf != "" { // nobody can ask it
			continue
		}
		list = append(list, agents.Peer{ID: a.ID, Description: a.Description, Accepts: a.Accepts})
	}
	return list
}

// takeName settles the host's name and keeps others of the same data folder
// from using it.
func (h *Host) takeName(ctx context.Context) (release func(), err error) {
	name, given := h.opt.Name, h.opt.Name != ""
	if !given {
		if name, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("name of this machine: %w; choose one with --name", err)
		}
	}
	h.opt.Name = name
	dir := cmp.Or(h.opt.Config.NATS.Embedded.Store, config.DefaultStore)
	lock := func() (func(), error) { return lockfile.Name(dir, h.opt.Name) }
	another := !given && h.opt.Config.NATS.External() // name will do
	for n := 2; ; n++ {
		if another {
			release, err = lock()
		} else {
			release, err = lockfile.Await(ctx, lock)
		}
		switch {
		case err == nil:
			return release, nil
		case errors.Is(err, lockfile.ErrLocked) && another:
			h.opt.Name = fmt.Sprintf("%s-%d", name, n)
		case errors.Is(err, lockfile.ErrLocked):
			return nil, err
		case h.opt.Config.NATS.External(): // the name is only for a quick restart
			h.log.Warn().Err(err).Msg("the host's name cannot be guarded; give each host a --name of its own")
			return func() {}, nil
		default:
			return nil, err
		}
	}
}

// warnUnbuilt says which parts of the configuration have no effect yet.
func (h *Host) warnUnbuilt() {
	cfg := h.opt.Config
	unbuilt := map[string]bool{"plugins": len(cfg.Plugins) > 0}
	for _, a := range cfg.Agents {
		unbuilt["agents.partitions"] = unbuilt["agents.partitions"] || a.Partitions > 0
	}
	for _, key := range slices.Sorted(maps.Keys(unbuilt)) {
		if unbuilt[key] {
			h.log.Warn().Str("key", key).Msg("this setting is checked but has no effect in this version")
		}
	}
}

// sayTools says what people should know of the tools before they are used.
func (h *Host) sayTools(now *setup) {
	shop := now.shop
	for _, a := range now.cfg.Agents {
		for _, glob := range shop.builtin.Unmatched(a.Tools) {
			if !shop.mayCome(glob) && (glob != tools.SkillTool || len(a.Found) == 0) {
				h.log.Warn().Str("agent", a.ID).Str("tool", glob).Msg("there is no such tool; it is left out")
			}
		}
	}
	h.saySandbox(now.cfg)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
