//go:build unix && long

package chaos_test

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"agenthost/agents"
	"agenthost/config"
	"agenthost/host"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// behaviorVar tells the test binary to be a host with a behaviour of its own,
// and names the file of its configuration.
const behaviorVar = "AGENTHOST_CHAOS_BEHAVIOR"

// deciding is where the behaviour tells that it has begun to decide.
const deciding = "chaos.deciding"

func serveBehavior(file string) error {
	host.Begin()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	agents.Register("slow", func(env agents.Env) (agents.Behavior, error) { return slow{nc: env.NC}, nil })
	cfg, err := config.Load(file)
	if err != nil {
		return err
	}
	return host.New(host.Options{Config: cfg, Path: file, Name: "a", Log: zerolog.New(os.Stderr)}).Run(ctx)
}

// slow says what it is told, some of it after a tool call, and takes its time.
type slow struct {
	agents.Base
	nc *nats.Conn
}

func (s slow) OnMessage(_ context.Context, m agents.Message) (agents.Action, error) {
	if strings.HasSuffix(m.Text(), "3") {
		return agents.Action{Answer: m.Text()}, nil
	}
	return agents.Action{}, nil
}

func (s slow) Decide(ctx context.Context, t agents.Turn) (agents.Answer, error) {
	if err := s.nc.Publish(deciding, nil); err != nil {
		return agents.Answer{}, err
	}
	select {
	case <-time.After(20 * time.Millisecond): // the host may die here
	case <-ctx.Done():
		return agents.Answer{}, ctx.Err()
	}
	if strings.Contains(t.Text(), "tool") && len(t.Results()) == 0 {
		return agents.Use("now", nil), nil
	}
	return agents.Say(t.Text()), nil
}
