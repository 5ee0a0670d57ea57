// Command shop is a host whose program adds a tool, a model provider and a hook
// of its own.
//
//	go run . agenthost.yaml
//	nats sub 'plugin.outbound.>' &
//	nats pub plugin.inbound.counter 'when are you open on Sunday?'
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"agenthost/hooks"
	"agenthost/host"
	"agenthost/llm"
	"agenthost/tools"

	"github.com/rs/zerolog"
)

func main() {
	host.Begin() // a host's commands run in a sandbox that is this program, too
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

// run serves the agents of a configuration until SIGINT or SIGTERM.
func run(args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	path := "agenthost.yaml"
	if len(args) > 0 {
		path = args[0]
	}
	h, err := host.Open(path, host.Options{
		Log:       zerolog.New(os.Stderr).Level(zerolog.InfoLevel).With().Timestamp().Logger(),
		Tools:     []tools.Tool{openingHours},
		Providers: map[string]host.ProviderFunc{"rules": func(llm.Config) (llm.Provider, error) { return rules{}, nil }},
		Hooks:     []hooks.Hook{{Point: hooks.BeforeMessage, Name: "mask cards", Handler: maskCards}},
	})
	if err != nil {
		return err
	}
	return h.Run(ctx)
}
