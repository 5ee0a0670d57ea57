// Package service offers the endpoints of NATS micro services as tools.
//
// A service is looked for at the start and every ten seconds. Its tools appear
// with its first instance and are gone when no instance of it has answered for
// three rounds. A call is a request on the subject of the endpoint, which carries
// the id of the call, so that the service can drop a repeat.
package service

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"agenthost/tools"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// Options are what a Directory needs of its host. Its zero values mean what the
// fields say.
type Options struct {
	Log zerolog.Logger
	// Changed is called after the Version of a service has changed. It must not
	// block; nil: none is reported.
	Changed func()
	// Every is the pause between rounds; 0: 10 s. Wait is how long instances have
	// to answer in a round; 0: 500 ms.
	Every, Wait time.Duration
}

// A Directory knows the configured services.
type Directory struct {
	nc   *nats.Conn
	opts Options

	mu       sync.Mutex
	services []*Service
	start    func(*Service) // nil while the directory does not run
}

// NewDirectory makes a Service of each of configured. Nothing is asked before
// Run.
func NewDirectory(nc *nats.Conn, configured map[string]tools.ServiceConfig, opts Options) *Directory {
	opts.Every = cmp.Or(opts.Every, 10*time.Second)
	opts.Wait = cmp.Or(opts.Wait, 500*time.Millisecond)
	d := &Directory{nc: nc, opts: opts}
	_, apply := d.Change(configured)
	apply()
	return d
}

// Change prepares for other services, and returns them by name. Once apply is
// called they are looked for, those that were configured before go on, and the
// others are not looked for any more; calls under way end as they will. There
// is to be no other Change in between.
func (d *Directory) Change(configured map[string]tools.ServiceConfig) (services []*Service, apply func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		trust := configured[name].Trust
		i := slices.IndexFunc(d.services, func(s *Service) bool { return s.name == name && s.trust == trust })
		if i >= 0 {
			services = append(services, d.services[i])
			continue
		}
		services = append(services, newService(d.nc, name, trust, d.opts))
	}
	return services, func() { d.apply(services) }
}

func (d *Directory) apply(services []*Service) {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.services
	d.services = services
	if d.start == nil {
		return
	}
	for _, s := range services {
		if !slices.Contains(old, s) {
			d.start(s)
		}
	}
	for _, s := range old {
		if !slices.Contains(services, s) {
			close(s.retired)
		}
	}
}

// Services are all of them, by name.
func (d *Directory) Services() []*Service {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.services)
}

// Await does what Service.Await does, for all services.
func (d *Directory) Await(ctx context.Context) {
	for _, s := range d.Services() {
		s.Await(ctx)
	}
}

// Run looks for the services until ctx ends. A directory runs once.
func (d *Directory) Run(ctx context.Context) error {
	var group sync.WaitGroup
	d.mu.Lock()
	d.start = func(s *Service) { group.Go(func() { s.run(ctx) }) }
	for _, s := range d.services {
		d.start(s)
	}
	d.mu.Unlock()
	<-ctx.Done()
	d.mu.Lock()
	d.start = nil
	d.mu.Unlock()
	group.Wait()
	return nil
}
