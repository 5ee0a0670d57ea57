// Command greeter is a host with an agent written in Go: it greets who speaks
// to it, asks a tool for the time, and calls no model. It is the whole of what
// a program of your own needs: register behaviours, load a configuration, run a
// host.
//
//	go run . agenthost.yaml
//	nats sub 'plugin.outbound.>' &
//	nats pub plugin.inbound.door '{"from":"7","name":"Ana","text":"hello"}'
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"agenthost/agents"
	"agenthost/config"
	"agenthost/host"
	"agenthost/llm"

	"github.com/rs/zerolog"
)

func main() {
	host.Begin() // a host's commands run in a sandbox that is this program, too
	agents.Register("greeter", func(env agents.Env) (agents.Behavior, error) {
		return greeter{word: strings.TrimSpace(env.Config.Instructions)}, nil
	})
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "greeter:", err)
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
	cfg, err := config.Load(path)
	if err != nil {
		return err
	}
	log := zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr, NoColor: true}).Level(zerolog.InfoLevel).With().Timestamp().Logger()
	return host.New(host.Options{Config: cfg, Path: path, Log: log}).Run(ctx)
}

// A greeter says its word to everyone, and what time it is to who asks.
type greeter struct {
	agents.Base
	word string
}

// OnMessage asks who does not say who they are, and writes the name of all
// others before what they say.
func (g greeter) OnMessage(_ context.Context, m agents.Message) (agents.Action, error) {
	if m.Name == "" {
		return agents.Action{Answer: "Who is there?"}, nil
	}
	return agents.Action{Change: llm.UserText(m.Name + ": " + m.Text())}, nil
}

// Decide stands where other agents ask a model.
func (g greeter) Decide(_ context.Context, t agents.Turn) (agents.Answer, error) {
	if results := t.Results(); len(results) > 0 {
		return agents.Say("It is " + results[0].Text), nil
	}
	name, text, _ := strings.Cut(t.Text(), ": ")
	if strings.Contains(text, "time") {
		return agents.Use("now", nil), nil
	}
	return agents.Say(fmt.Sprintf("%s, %s!", g.word, name)), nil
}
