package agentprotocol

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"agenthost/bus/filestore"
	"agenthost/bus/microservice"
	"agenthost/doors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/rs/zerolog"
)

// What the protocol and this product are called in it.
const (
	ServiceName     = "agents"
	ProtocolVersion = "0.3"
	Harness         = "agenthost"
	DefaultOwner    = "default"

	queueGroup = "agents"
	root       = "agents." // of all subjects
)

const (
	beatEvery   = 30 * time.Second
	ackEvery    = 30 * time.Second
	queryWithin = time.Hour
	// mostTurns are the prompts that are answered at once.
	mostTurns  = 1000
	retryAfter = 5 // seconds
)

// Options are what a Server is made of.
type Options struct {
	Desk    *doors.Desk // of bus.DoorNATS
	Files   *filestore.Store
	Owner   string // default DefaultOwner
	Version string // of the host
	Agents  func() []doors.Agent
	// Changed has an element when Agents may have changed.
	Changed <-chan struct{}
	// Stopping is closed when no more prompts are to be taken.
	Stopping <-chan struct{}
	Log      zerolog.Logger

	BeatEvery   time.Duration // between two heartbeats; default 30 s
	AckEvery    time.Duration // between two signs of life of a turn; default 30 s
	QueryWithin time.Duration // how long a caller has to answer a query; default an hour
}

// A Server offers agents to callers.
type Server struct {
	opt   Options
	nc    *nats.Conn
	turns chan struct{} // those in progress

	mu      sync.Mutex
	closed  bool
	work    sync.WaitGroup
	ctx     context.Context // of the turns: that of Run
	serving map[string]*instance
}

// An instance is an agent as it is registered.
type instance struct {
	doors.Agent
	service *microservice.Service
}

// New makes a Server.
func New(opt Options) *Server {
	opt.Owner = cmp.Or(opt.Owner, DefaultOwner)
	opt.BeatEvery, opt.AckEvery = cmp.Or(opt.BeatEvery, beatEvery), cmp.Or(opt.AckEvery, ackEvery)
	opt.QueryWithin = cmp.Or(opt.QueryWithin, queryWithin)
	return &Server{
		opt: opt, nc: opt.Desk.Client().NATS(), turns: make(chan struct{}, mostTurns), serving: map[string]*instance{},
	}
}

// Run serves the agents until ctx ends.
func (s *Server) Run(ctx context.Context) error {
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	beat := time.NewTicker(s.opt.BeatEvery)
	defer beat.Stop()
	defer s.work.Wait()
	defer s.close()
	changed, stopping := s.opt.Changed, s.opt.Stopping
	s.follow()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-stopping:
			s.close()
			changed, stopping = nil, nil
		case <-changed:
			s.follow()
		case <-beat.C:
			s.beat()
		}
	}
}

// close takes no more prompts. Those in progress go on.
func (s *Server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for id, one := range s.serving {
		one.service.Stop()
		delete(s.serving, id)
	}
}

// follow registers the agents that there are now, and no others.
func (s *Server) follow() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	wanted := map[string]doors.Agent{}
	for _, a := range s.opt.Agents() {
		wanted[a.ID] = a
	}
	for id, one := range s.serving {
		if wanted[id] != one.Agent {
			one.service.Stop()
			delete(s.serving, id)
		}
	}
	for id, a := range wanted {
		if s.serving[id] != nil {
			continue
		}
		one, err := s.register(a)
		if err != nil {
			s.opt.Log.Warn().Err(err).Str("agent", id).Msg("register agent for callers: failed; retrying at the next heartbeat")
			continue
		}
		s.serving[id] = one
		s.publishBeat(one)
	}
}

func (s *Server) register(a doors.Agent) (*instance, error) {
	one := &instance{Agent: a}
	service, err := microservice.Start(s.nc, microservice.Config{
		Name: ServiceName, Version: s.opt.Version, Description: cmp.Or(a.Description, a.ID+", an agent"),
		Metadata: map[string]string{"agent": Harness, "owner": s.opt.Owner, "protocol_version": ProtocolVersion}, Log: s.opt.Log,
	}, microservice.Endpoint{
		Name: "prompt", Subject: s.subject("prompt", a.ID), Group: queueGroup, Description: "answers with a stream of chunks",
		Metadata: map[string]string{"max_payload": strconv.FormatInt(s.maxPayload()>>10, 10) + "KB", "attachments_ok": "true"},
		Handler:  micro.HandlerFunc(func(req micro.Request) { s.prompt(a.ID, req) }),
	}, microservice.Endpoint{
		Name: "status", Subject: s.subject("status", a.ID), Group: queueGroup, Description: "answers with a heartbeat",
		Handler: micro.HandlerFunc(func(req micro.Request) { s.status(a.ID, req) }),
	})
	one.service = service
	return one, err
}

func (s *Server) subject(verb, agent string) string {
	return root + strings.Join([]string{verb, Harness, s.opt.Owner, agent}, ".")
}

// maxPayload is how large a prompt may be: with what the host adds it must fit into a
// message of its own.
func (s *Server) maxPayload() int64 { return s.nc.MaxPayload() / 4 * 3 }

// A heartbeat is a sign of life of an instance.
type heartbeat struct {
	Agent      string `json:"agent"`
	Owner      string `json:"owner"`
	InstanceID string `json:"instance_id"`
	TS         string `json:"ts"`
	IntervalS  int    `json:"interval_s"`
}

func (s *Server) heartbeat(one *instance) ([]byte, error) {
	return json.Marshal(heartbeat{
		Agent: Harness, Owner: s.opt.Owner, InstanceID: one.service.ID(),
		TS: time.Now().UTC().Format(time.RFC3339), IntervalS: max(1, int(s.opt.BeatEvery/time.Second)),
	})
}

// beat sends the heartbeats, and registers what could not be registered before.
func (s *Server) beat() {
	s.mu.Lock()
	for _, one := range s.serving {
		s.publishBeat(one)
	}
	s.mu.Unlock()
	s.follow()
}

// publishBeat only fails where no heartbeat is needed: the connection is gone for good.
func (s *Server) publishBeat(one *instance) {
	if body, err := s.heartbeat(one); err == nil {
		_ = s.nc.Publish(s.subject("hb", one.ID), body)
	}
}

func (s *Server) status(agent string, req micro.Request) {
	body, err := s.statusOf(agent)
	if err != nil {
		_ = req.Error(strconv.Itoa(codeInternal), headerText(err.Error()), nil) // the caller may be gone
		return
	}
	_ = req.Respond(body)
}

func (s *Server) statusOf(agent string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.serving[agent]
	if one == nil {
		return nil, fmt.Errorf("the agent %s is not served here any more", agent)
	}
	return s.heartbeat(one)
}

// prompt has a prompt answered. Endpoints are called one request after the other, so
// that is done elsewhere.
func (s *Server) prompt(agent string, req micro.Request) {
	reply, data, id := req.Reply(), req.Data(), req.Headers().Get(nats.MsgIdHdr)
	out := &stream{nc: s.nc, reply: reply}
	if strings.HasPrefix(reply, root) { // it would count as a prompt, an answer or a heartbeat
		s.opt.Log.Warn().Str("reply", reply).Msg("refuse prompt: no answer may go to its reply subject")
		return
	}
	ctx, ok := s.begin()
	if !ok {
		out.fail(codeTooMany, failure{"busy", "this host takes no more prompts now; try again", retryAfter})
		return
	}
	go func() {
		defer s.work.Done()
		defer func() { <-s.turns }()
		s.answer(ctx, agent, data, id, out)
	}()
}

// begin reserves a turn.
func (s *Server) begin() (ctx context.Context, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false
	}
	select {
	case s.turns <- struct{}{}:
		s.work.Add(1)
		return s.ctx, true
	default:
		return nil, false
	}
}
