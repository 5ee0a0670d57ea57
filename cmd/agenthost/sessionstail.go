package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"agenthost/internal/control"

	"github.com/spf13/cobra"
)

func (a *app) sessionsTailCommand() *cobra.Command {
	return a.oneSession(&cobra.Command{
		Use:   "tail AGENT KEY",
		Short: "Follow a session",
		Long: `Tail prints what happens in a session from now on, until it is interrupted: each
event when it is committed and, on a terminal, what the model says while it says
it. With --json an event is a line.`,
		Example: `  agenthost sessions tail assistant web/dm/ana
  agenthost sessions tail assistant web/dm/ana --json`,
	}, a.tail)
}

func (a *app) tail(ctx context.Context, s *shelf, agent, sid string) error {
	ctx, cancel := context.WithCancel(ctx)
	speech := &tailSpeech{app: a}
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	if _, sum, err := s.State(ctx, agent, sid); err == nil && !a.json && isTerminal(a.stdout) {
		group.Go(func() { speech.follow(ctx, s, agent, string(sum.Key)) })
	}
	ready := func() { a.warn("following; interrupt to end") }
	for f, err := range s.Follow(ctx, agent, sid, ready) {
		if err != nil {
			return err
		}
		if !a.json {
			speech.event(f)
			continue
		}
		line, err := json.Marshal(f)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "%s\n", printableJSON(line))
	}
	return nil
}

// A tailSpeech writes what a model says between the events.
type tailSpeech struct {
	app *app

	mu     sync.Mutex
	midway bool // the cursor is behind something said
}

func (t *tailSpeech) follow(ctx context.Context, s *shelf, agent, key string) {
	for c, err := range control.Follow(ctx, s.nc, agent, key) {
		if err != nil {
			return // the events tell why
		}
		t.mu.Lock()
		if c.Text != "" {
			fmt.Fprint(t.app.stdout, printable(c.Text))
			t.midway = true
		}
		t.mu.Unlock()
	}
}

func (t *tailSpeech) event(f control.Fact) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.midway {
		fmt.Fprintln(t.app.stdout)
		t.midway = false
	}
	t.app.printFact(f)
}
