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
	// block; nil: nobody is told.
	Changed func()
	// Trace is the traceparent of the work that ctx is for, empty when there is
	// none; nil: calls carry no trace.
	Trace func(ctx context.Context) string
	// Every is the pause between rounds; 0: 10 s. Wait is how long instances have
	// to answer in a round; 0: 500 ms.
	Every, Wait time.Duration
}

// A Directory knows the configured services.
type Directory struct {
	services []*Service
}

// NewDirectory makes a Service of each of configured. Nothing is asked before
// Run.
func NewDirectory(nc *nats.Conn, configured map[string]tools.ServiceConfig, opts Options) *Directory {
	opts.Every = cmp.Or(opts.Every, 10*time.Second)
	opts.Wait = cmp.Or(opts.Wait, 500*time.Millisecond)
	d := &Directory{}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		d.services = append(d.services, newService(nc, name, opts))
	}
	return d
}

// Services are all of them, by name.
func (d *Directory) Services() []*Service { return slices.Clone(d.services) }

// Await does what Service.Await does, for all services.
func (d *Directory) Await(ctx context.Context) {
	for _, s := range d.services {
		s.Await(ctx)
	}
}

// Run looks for the services until ctx ends. A directory runs once.
func (d *Directory) Run(ctx context.Context) error {
	var group sync.WaitGroup
	for _, s := range d.services {
		group.Go(func() { s.run(ctx) })
	}
	group.Wait()
	return nil
}
