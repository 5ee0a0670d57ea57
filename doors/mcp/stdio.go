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
)

// ErrNoAgents is the error of Serve where no agent is reached.
var ErrNoAgents = errors.New("no agent is reached by mcp: no host answers, or doors of all agents leave it out; start one with: agenthost run")

// Options are for Serve.
type Options struct {
	From    string // the person at the client
	Version string
	Log     zerolog.Logger
}

// Serve serves MCP on two streams, as one client that starts a program expects it, until
// in or ctx ends. The desk has to run.
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
	lines := &lineWriter{WriteCloser: out}
	session, err := s.sdk.Connect(ctx, &sdk.IOTransport{Reader: newMessages(in, lines), Writer: lines, MaxLineLength: -1}, nil)
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
