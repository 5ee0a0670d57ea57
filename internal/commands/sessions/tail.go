package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"agenthost/client"
	"agenthost/internal/cli"
	"agenthost/internal/terminal"

	"github.com/spf13/cobra"
)

func (a *app) tailCommand() *cobra.Command {
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

func (a *app) tail(ctx context.Context, s *client.Sessions, agent, sid string) error {
	ctx, cancel := context.WithCancel(ctx)
	speech := &tailSpeech{app: a}
	var group sync.WaitGroup
	defer group.Wait()
	defer cancel()
	if _, sum, err := s.State(ctx, agent, sid); err == nil && !a.JSON && cli.IsTerminal(a.Stdout) {
		group.Go(func() { speech.follow(ctx, s, agent, string(sum.Key)) })
	}
	ready := func() { a.Warn("following; interrupt to end") }
	for f, err := range s.Follow(ctx, agent, sid, ready) {
		if err != nil {
			return err
		}
		if !a.JSON {
			speech.event(f)
			continue
		}
		line, err := json.Marshal(f)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Stdout, "%s\n", cli.PrintableJSON(line))
	}
	return nil
}

// A tailSpeech writes what a model says between the events.
type tailSpeech struct {
	app *app

	mu     sync.Mutex
	midway bool // the cursor is behind something said
}

func (t *tailSpeech) follow(ctx context.Context, s *client.Sessions, agent, key string) {
	for c, err := range s.Client().Follow(ctx, agent, key) {
		if err != nil {
			return // the events say why
		}
		t.mu.Lock()
		if c.Text != "" {
			fmt.Fprint(t.app.Stdout, terminal.Printable(c.Text))
			t.midway = true
		}
		t.mu.Unlock()
	}
}

func (t *tailSpeech) event(f client.Fact) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.midway {
		fmt.Fprintln(t.app.Stdout)
		t.midway = false
	}
	t.app.printFact(f)
}
