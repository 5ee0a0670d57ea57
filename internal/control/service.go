// Package control answers what programs ask of a running host: one table of
// operations, each a function from a request to an answer, behind the micro
// service of every host. Requests and answers that package client sends and
// reads are its types.
package control

import (
	"context"
	"sync"
	"time"

	"agenthost/agents/engine"
	"agenthost/bus/microservice"
	"agenthost/bus/signing"
	"agenthost/client"
	"agenthost/internal/eval"
	"agenthost/llm"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A Host is what the operations need of the host that they run in.
type Host struct {
	Name    string
	Version string
	NC      *nats.Conn
	JS      jetstream.JetStream
	Signer  *signing.Signer // of route messages
	Fleet   *engine.Fleet
	Started time.Time
	Log     zerolog.Logger

	Status   func() client.Status
	Channels func() []client.AccountStatus
	Reload   func(context.Context) client.Reloaded
	Drain    func() // ends this host
	Serves   func(agent string) bool
	Gates    func() []*llm.Gate
	Redact   func(text string) string // without secrets
	Profiles func() []AgentProfile    // of the agents of the configuration
	Chain    func(models []string) (*llm.Chain, error)
	// TokenNames are those of http.tokens, which no token that is made may have.
	TokenNames []string
	Rerun      func(ctx context.Context, r eval.Rerun, facts []session.Fact) ([]Comparison, error)
}

// A Comparison is a run as it was, and as another model answers it.
type Comparison = eval.Comparison

// A Service answers requests until Stop.
type Service struct {
	host      Host
	namesakes *namesakes
	work      requests
	look      sync.WaitGroup // for hosts of the same name

	micro *microservice.Service
	stop  context.CancelFunc // of the look for hosts of the same name
}

// Start answers requests for the operations of a host.
func Start(h Host) (*Service, error) {
	s := &Service{host: h, namesakes: newNamesakes(h)}
	var endpoints []microservice.Endpoint
	for _, o := range s.Operations() {
		endpoints = append(endpoints, o.endpoint(&s.work))
	}
	var err error
	s.micro, err = microservice.Start(h.NC, microservice.Config{
		Name: client.ServiceName, Version: h.Version, Description: "a host of agents",
		Metadata: s.namesakes.self.metadata(), Log: h.Log,
	}, endpoints...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	s.stop = cancel
	s.look.Go(func() { s.namesakes.look(ctx) })
	return s, nil
}

// Stop takes no more requests, and waits for those in progress.
func (s *Service) Stop() {
	s.stop()
	s.micro.Stop()
	s.work.wait()
	s.look.Wait()
}

func (h Host) status(_ context.Context, _ none) (client.Status, error) { return h.Status(), nil }

// client asks the fleet that this host is part of. What it does is written into the
// audit log by the operation.
func (h Host) client() *client.Client {
	return client.New(h.NC, h.JS, client.Options{Unrecorded: true})
}

// clientFor is client for what other hosts do for a caller.
func (h Host) clientFor(c Caller) *client.Client {
	return client.New(h.NC, h.JS, client.Options{Unrecorded: true, Door: c.door(), By: c.by("")})
}

// requests are those in progress. A sync.WaitGroup alone does not bear what comes while
// it is waited for: subscriptions end some time after they were told to.
type requests struct {
	mu    sync.Mutex
	ended bool // none is begun any more
	work  sync.WaitGroup
}

// begin counts a request in. It is false once wait was called: then it is not to be
// served, and the one who asks hears nothing.
func (r *requests) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		r.work.Add(1)
	}
	return !r.ended
}

// done ends one that begin has counted in.
func (r *requests) done() { r.work.Done() }

// wait lets no more begin, and waits for those in progress.
func (r *requests) wait() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
	r.work.Wait()
}
