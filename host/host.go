// Package host runs a configuration as one process of a fleet: it builds the
// parts, starts them in order, follows changes of the configuration and stops
// in the reverse order.
package host

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"agenthost/agents"
	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/bus/publishing"
	"agenthost/bus/signing"
	"agenthost/config"
	"agenthost/hooks"
	"agenthost/internal/build"
	"agenthost/internal/httpapi"
	"agenthost/internal/httpauth"
	"agenthost/internal/identity"
	"agenthost/internal/natsserver"
	"agenthost/internal/sandbox"
	"agenthost/internal/telemetry"
	"agenthost/internal/tokens"
	"agenthost/metrics"
	"agenthost/plugins"
	"agenthost/plugins/web"
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
	// Weight is the share of the lanes that this host takes beside the others; default 1.
	Weight int
	// Grace is how long runs in progress may take when the host stops; default 30 s.
	Grace   time.Duration
	Version string
	Log     zerolog.Logger
	// OnHeartbeat is called for the ticks of all agents with a heartbeat, each once
	// in the whole fleet. It may be nil.
	OnHeartbeat func(ctx context.Context, agent string, due time.Time)
	// Behaviors are known to this host besides those of agents.Register, and go
	// before them.
	Behaviors map[string]agents.Factory
	// Tools are the program's own, beside those of the host. An agent has those
	// that it is granted by name. See tools.Typed.
	Tools []tools.Tool
	// Providers make the models whose provider has that name.
	Providers map[string]ProviderFunc
	// Hooks are the program's own, beside those of the configuration.
	Hooks []hooks.Hook
	// Channels are the program's own, by their names in plugins, beside those of the
	// host.
	Channels map[string]plugins.Maker
}

// DefaultGrace is the default of Options.Grace.
const DefaultGrace = 30 * time.Second

// A Host is one process of a fleet. Make one with New; it does nothing until
// Run.
type Host struct {
	opt   Options
	log   zerolog.Logger
	ready chan struct{}
	bus   atomic.Pointer[bus.Bus]
	fleet atomic.Pointer[engine.Fleet]
	posts atomic.Pointer[publishing.Publisher]
	state atomic.Pointer[string] // why the host is not ready; empty when it is
	http  atomic.Pointer[string] // where HTTP is served
	chat  atomic.Pointer[web.Web]
	doors atomic.Pointer[http.ServeMux]
	api   atomic.Pointer[httpapi.API]

	issued   *tokens.Index  // tokens that were made by command
	httpAuth *httpauth.Auth // who may ask over HTTP

	stop context.CancelFunc // ends Run

	waiting time.Time       // since when for NATS; set before the state that says so
	signer  *signing.Signer // of route messages; set before anything is served

	identities identity.Table

	accounts atomic.Pointer[accounts]        // of channels; nil until they can be served
	cleaner  atomic.Pointer[plugins.Cleaner] // of accounts that are not configured any more; as accounts

	metrics     *metrics.Registry
	traces      *telemetry.Traces // nil: none are asked for; set before anything is served
	descriptors *descriptors

	now     atomic.Pointer[build.Setup]
	refused atomic.Pointer[[]config.Problem] // of the configuration that was read last
	orders  chan order
	over    chan struct{} // closed when no order is obeyed any more
	end     func()        // closes over
}

// New makes a Host.
func New(opt Options) *Host {
	opt.Grace, opt.Weight = cmp.Or(opt.Grace, DefaultGrace), cmp.Or(opt.Weight, 1)
	h := &Host{
		opt: opt, log: opt.Log, ready: make(chan struct{}), metrics: metrics.New(), descriptors: newDescriptors(opt.Log),
		orders: make(chan order), over: make(chan struct{}),
	}
	h.issued = tokens.NewIndex(tokenNames(opt.Config)...)
	h.httpAuth = h.newAuth()
	h.end = sync.OnceFunc(func() { close(h.over) })
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
// the time of Grace to end, publishes what is left, and returns.
func (h *Host) Run(ctx context.Context) error {
	return h.bounded(endWithin, func() error { return h.run(ctx) })
}

func (h *Host) run(ctx context.Context) error {
	if err := h.opt.check(); err != nil {
		return err
	}
	ctx, h.stop = context.WithCancel(ctx)
	defer h.stop()
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

// background runs functions until ctx ends, or the returned function is called,
// which waits for all of them.
func background(ctx context.Context, runs ...func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	for _, run := range runs {
		group.Go(func() { _ = run(ctx) }) // it ends with ctx
	}
	return func() {
		cancel()
		group.Wait()
	}
}

// Begin has to be called first in the main function of a program that runs
// hosts: the program is also what puts the commands of agents into their
// sandbox, and then Begin does not return.
func Begin() { sandbox.Main() }
