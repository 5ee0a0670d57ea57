// Package control is what programs can ask of a running fleet: one table of
// operations, each a function from a request to an answer, behind the micro
// service of every host. The types of requests and answers are those on the
// wire, so clients use them as well.
//
// What only reads or writes a stream or a bucket, such as the list of what waits
// for an answer, also works where no host runs.
package control

import (
	"context"
	"regexp"
	"sync"
	"time"

	"agenthost/agents"
	"agenthost/bus/microservice"
	"agenthost/bus/signing"
	"agenthost/llm"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// ServiceName is the name of the micro service that every host is.
const ServiceName = "agenthost"

// A Host is what the operations need of the host that they run in.
type Host struct {
	Name    string
	Version string
	NC      *nats.Conn
	JS      jetstream.JetStream
	Signer  *signing.Signer // of route messages
	Fleet   *agents.Fleet
	Started time.Time
	Log     zerolog.Logger

	Status func() Status
	Reload func(context.Context) Reloaded
	Serves func(agent string) bool
	Gates  func() []*llm.Gate
	Redact func(text string) string // without secrets
}

// A Service answers requests until Stop.
type Service struct {
	host      Host
	namesakes *namesakes
	work      sync.WaitGroup // requests in progress

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
		Name: ServiceName, Version: semver(h.Version), Description: "a host of agents",
		Metadata: s.namesakes.self.metadata(), Log: h.Log,
	}, endpoints...)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), askWithin)
	s.stop = cancel
	s.work.Go(func() { s.namesakes.look(ctx) })
	return s, nil
}

// Stop takes no more requests, and waits for those in progress.
func (s *Service) Stop() {
	s.stop()
	s.micro.Stop()
	s.work.Wait()
}

// Operations is the table of all operations of a host.
func (s *Service) Operations() []Operation {
	h := s.host
	sessions := &sessionStore{archive: Sessions(h.JS), nc: h.NC, drop: h.Fleet.Drop}
	dead := &deadLetters{h.JS, h.NC}
	return []Operation{
		status(Operation{Name: "status", Subject: StatusSubject, About: "what every host and its agents are doing", Do: do(none{}, h.status)}),
		order(Operation{
			Name: "breaker", Subject: BreakerSubject, All: true, Do: done(breakerOrder{}, h.breaker),
			About: "takes a model out of service on every host, and back: model, action (trip, reset)",
		}),
		status(Operation{
			Name: "stream", Subject: SpeakingSubject, Silent: true, Do: do(speaking{}, h.stream),
			About: "what the model of a session has said so far: agent, session; only its host answers, and only while it speaks",
		}),
		status(Operation{
			Name: "reload", Subject: ReloadSubject, Do: do(none{}, h.reload),
			About: "reads the configuration again, on every host; each tells what came of it",
		}),
		status(Operation{
			Name: "runs", Subject: RunsSubject, Do: do(none{}, h.runs),
			About: "the runs of every host: what each is doing, since when, what it waits for",
		}),
		report(Operation{Name: "prompt", Subject: PromptSubject, Do: do(Peek{}, h.prompt), About: "what the model of an agent gets with each call: agent"}),
		order(Operation{
			Name: "approve", Subject: ApproveSubject, Do: done(Answer{By: ServiceName}, h.approve),
			About: "answers a call that waits: id, answer, scope, by, args",
		}),
		order(Operation{
			Name: "abort", Subject: AbortSubject, Do: done(Stop{By: ServiceName}, h.abort),
			About: "stops the run of a session: agent, session, by, reason",
		}),
		report(Operation{
			Name: "sessions-ls", Subject: SessionsSubject, Do: do(SessionPage{}, sessions.list),
			About: "lists sessions, the last written first: agent, limit, after",
		}),
		report(Operation{Name: "sessions-delete", Subject: DeleteSessionSubject, Do: do(Removal{}, sessions.delete), About: "deletes a session: agent, session"}),
		report(Operation{
			Name: "sessions-fork", Subject: ForkSessionSubject, Do: do(Branching{}, sessions.fork),
			About: "makes a session of the beginning of another: agent, session, at, to",
		}),
		{
			Name: "sessions-drop", Subject: dropSubject, Do: done(Deletion{}, sessions.dropped), All: true, Notice: true, InOrder: true, Required: true, Within: orderWithin,
			About: "tells hosts that a session was deleted",
		},
		{
			Name: "hosts-namesake", Subject: namesakeSubject, Do: done(presence{}, s.namesakes.heard), All: true, Notice: true, InOrder: true, Required: true, Within: orderWithin,
			About: "tells hosts that one of their name has started",
		},
		report(Operation{
			Name: "dead-ls", Subject: DeadLettersSubject, Do: do(DeadPage{}, dead.list),
			About: "lists dead letters, the oldest first: agent, limit, after",
		}),
		report(Operation{Name: "dead-show", Subject: ShowDeadSubject, Do: do(DeadNumber{}, dead.show), About: "tells all of a dead letter: dead_seq"}),
		report(Operation{
			Name: "dead-retry", Subject: RetryDeadSubject, Do: do(DeadChoice{}, dead.retry),
			About: "sends the messages of dead letters again: dead_seqs, or all with agent, limit, after",
		}),
		report(Operation{
			Name: "dead-purge", Subject: PurgeDeadSubject, Do: do(DeadChoice{}, dead.purge),
			About: "deletes dead letters for good: dead_seqs, or all with agent, limit, after",
		}),
	}
}

func (h Host) status(context.Context, none) (Status, error) { return h.Status(), nil }

var isSemver = regexp.MustCompile(`^\d+\.\d+\.\d+`)

// semver is version as the micro protocol wants it.
func semver(version string) string {
	if isSemver.MatchString(version) {
		return version
	}
	return "0.0.0"
}
