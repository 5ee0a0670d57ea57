package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"agenthost/doors"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/rs/zerolog"
)

const (
	// askEvery is how often the hosts are asked for their agents.
	askEvery = 10 * time.Second
	// longestLine bounds a message on stdio.
	longestLine = 4 << 20
	// answerFor is how long calls may go on behind the end of the input, and lastWords how
	// long it may take until the last that came is with the call that it is for, and until
	// the calls that have to end have said so.
	answerFor = 30 * time.Second
	lastWords = time.Second
)

// ErrNoAgents is the error of Serve where no agent is reached.
var ErrNoAgents = errors.New("no agent is reached by mcp: no host answers, or doors of all agents leave it out; start one with: agenthost run")

// Options are for Serve.
type Options struct {
	From    string // the person at the client
	Version string
	Log     zerolog.Logger
}

// errInputEnded ends the calls that go on for longer than a client can be waited for. Their
// runs go on.
var errInputEnded = errors.New("the input has ended, and the run goes on; its answer will be in its session")

// Serve serves MCP on two streams, as one client that starts a program expects it, until
// ctx ends, or in does and what has come is answered. The desk has to run.
func Serve(ctx context.Context, desk *doors.Desk, in io.ReadCloser, out io.WriteCloser, opt Options) error {
	agents, err := desk.Agents(ctx)
	if err != nil {
		return fmt.Errorf("list the agents: %w", err)
	}
	if len(agents) == 0 {
		return ErrNoAgents
	}
	s := newServer(desk, "", opt.From, opt.Version)
	defer s.stop()
	s.offer(agents)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		s.look(ctx, opt.Log)
	}()
	defer func() { cancel(); <-looked }()
	lines := newResponses(out, s.order)
	ended := func() { s.finish(ctx, lines) }
	session, err := s.sdk.Connect(ctx, &sdk.IOTransport{Reader: newMessages(in, lines, ended), Writer: lines, MaxLineLength: -1}, nil)
	if err != nil {
		return fmt.Errorf("serve MCP: %w", err)
	}
	defer context.AfterFunc(ctx, func() {
		s.end(errStopping) // else closing waits for the calls
		_ = in.Close()
	})()
	if err := session.Wait(); err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("serve MCP: %w", err)
	}
	return nil
}

// finish returns once all is answered, behind the end of the input.
func (s *server) finish(ctx context.Context, lines *responses) {
	forms := time.AfterFunc(lastWords, s.noForms)
	defer forms.Stop()
	done := lines.complete()
	wait := time.NewTimer(answerFor)
	defer wait.Stop()
	select {
	case <-done:
		return
	case <-ctx.Done():
		return
	case <-wait.C:
	}
	s.end(errInputEnded)
	wait.Reset(lastWords)
	select {
	case <-done:
	case <-ctx.Done():
	case <-wait.C:
	}
}

// look offers the agents that there are by then. Hosts that do not answer now come back.
func (s *server) look(ctx context.Context, log zerolog.Logger) {
	for tick := time.NewTicker(askEvery); ; {
		select {
		case <-ctx.Done():
			tick.Stop()
			return
		case <-tick.C:
		}
		agents, err := s.desk.Agents(ctx)
		switch {
		case err != nil:
			log.Debug().Err(err).Msg("list the agents")
		case len(agents) > 0:
			s.offer(agents)
		}
	}
}
