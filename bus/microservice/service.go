// Package microservice runs a service of the NATS micro protocol (ADR-32), as
// the framework of nats.go does, but answers only where a foreign subject may
// lead.
//
// NATS publishes an answer with the rights of the connection that answers. The
// framework answers $SRV.PING, INFO and STATS on any reply subject, such as
// agenthost.approve, and has no option against it. Here neither these nor the
// endpoints serve a request whose reply subject is not bus.Publishable.
package microservice

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"maps"
	"regexp"
	"sync"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"
)

// Config describes a service.
type Config struct {
	Name        string // letters, digits, - and _
	Version     string // a semantic version; anything else counts as 0.0.0
	Description string
	Metadata    map[string]string
	Log         zerolog.Logger
}

// An Endpoint is a subject that a service answers on.
type Endpoint struct {
	Name        string // letters, digits, - and _
	Subject     string
	Description string
	Handler     micro.Handler
	// All makes every instance answer; else one of those in Group does.
	All   bool
	Group string // default micro.DefaultQueueGroup
	// Metadata describes the endpoint further.
	Metadata map[string]string
	// Notice serves messages without a reply subject as well.
	Notice bool
}

// A Service answers requests until Stop.
type Service struct {
	nc      *nats.Conn
	log     zerolog.Logger
	info    micro.Info
	started time.Time
	subs    []*nats.Subscription

	mu    sync.Mutex
	stats []micro.EndpointStats // in the order of info.Endpoints
}

// Start subscribes to the subjects of the endpoints and of the protocol.
func Start(nc *nats.Conn, cfg Config, endpoints ...Endpoint) (*Service, error) {
	s := &Service{nc: nc, log: bus.Few(cfg.Log), started: time.Now().UTC(), info: micro.Info{
		ServiceIdentity: micro.ServiceIdentity{Name: cfg.Name, ID: rand.Text(), Version: semver(cfg.Version), Metadata: cfg.Metadata},
		Type:            micro.InfoResponseType, Description: cfg.Description,
	}}
	err := s.subscribeEndpoints(endpoints)
	if err == nil {
		err = s.subscribeVerbs()
	}
	if err != nil {
		s.Stop()
		return nil, fmt.Errorf("start service %s: %w", cfg.Name, err)
	}
	return s, nil
}

var isSemver = regexp.MustCompile(`^\d+\.\d+\.\d+`)

// semver is version as the protocol wants it.
func semver(version string) string {
	if isSemver.MatchString(version) {
		return version
	}
	return "0.0.0"
}

// ID identifies this instance among those of the name.
func (s *Service) ID() string { return s.info.ID }

// Stop takes no more requests. It does not wait for those in progress.
func (s *Service) Stop() {
	for _, sub := range s.subs {
		_ = sub.Drain() // the connection may be away
	}
}

func (s *Service) subscribeEndpoints(endpoints []Endpoint) error {
	for _, e := range endpoints {
		group := cmp.Or(e.Group, micro.DefaultQueueGroup)
		if e.All {
			group = ""
		}
		metadata := map[string]string{"description": e.Description}
		maps.Copy(metadata, e.Metadata)
		s.info.Endpoints = append(s.info.Endpoints, micro.EndpointInfo{
			Name: e.Name, Subject: e.Subject, QueueGroup: group, Metadata: metadata,
		})
		s.stats = append(s.stats, micro.EndpointStats{Name: e.Name, Subject: e.Subject, QueueGroup: group})
	}
	for i, e := range endpoints {
		err := s.subscribe(e.Subject, s.info.Endpoints[i].QueueGroup, func(m *nats.Msg) { s.serve(i, e, m) })
		if err != nil {
			return err
		}
	}
	return nil
}

// subscribeVerbs answers who looks for services: for all, for those of this
// name, and for this instance.
func (s *Service) subscribeVerbs() error {
	for verb, value := range map[micro.Verb]func() any{
		micro.PingVerb:  func() any { return micro.Ping{ServiceIdentity: s.info.ServiceIdentity, Type: micro.PingResponseType} },
		micro.InfoVerb:  func() any { return s.info },
		micro.StatsVerb: s.statistics,
	} {
		for _, of := range []micro.ServiceIdentity{{}, {Name: s.info.Name}, {Name: s.info.Name, ID: s.info.ID}} {
			subject, err := micro.ControlSubject(verb, of.Name, of.ID)
			if err != nil {
				return err
			}
			err = s.subscribe(subject, "", func(m *nats.Msg) {
				if s.allowed(m) {
					_ = (&request{msg: m}).RespondJSON(value()) // the client may be gone
				}
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *Service) subscribe(subject, group string, handle nats.MsgHandler) error {
	sub, err := s.nc.QueueSubscribe(subject, group, handle)
	if err != nil {
		return fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	s.subs = append(s.subs, sub)
	return nil
}

// allowed reports whether an answer may go to the reply subject of m. On
// agent.route.bank it would count as the host's own word.
func (s *Service) allowed(m *nats.Msg) bool {
	if bus.Publishable(m.Reply) {
		return true
	}
	s.log.Warn().Str("subject", m.Subject).Str("reply", m.Reply).Msg("refuse request: no answer may go to its reply subject")
	return false
}

// serve hands m to the endpoint number i. A message without a reply subject is no
// request: it may be an answer of a host that does not look where it sends it.
func (s *Service) serve(i int, e Endpoint, m *nats.Msg) {
	if (!e.Notice || m.Reply != "") && !s.allowed(m) {
		return
	}
	began := time.Now()
	e.Handler.Handle(&request{msg: m, failed: func(text string) { s.countError(i, text) }})
	s.count(i, time.Since(began))
}

func (s *Service) count(i int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &s.stats[i]
	st.NumRequests++
	st.ProcessingTime += took
	st.AverageProcessingTime = st.ProcessingTime / time.Duration(st.NumRequests)
}

func (s *Service) countError(i int, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats[i].NumErrors++
	s.stats[i].LastError = text
}

func (s *Service) statistics() any {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := micro.Stats{ServiceIdentity: s.info.ServiceIdentity, Type: micro.StatsResponseType, Started: s.started}
	for _, st := range s.stats {
		out.Endpoints = append(out.Endpoints, &st)
	}
	return out
}
