package host_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/client"
	"agenthost/config"
	"agenthost/heartbeat"
	"agenthost/host"
	"agenthost/internal/waittest"

	"github.com/rs/zerolog"
)

// A parrot has no model.
type parrot struct{ agents.Base }

func (parrot) Decide(_ context.Context, t agents.Turn) (agents.Answer, error) {
	return agents.Say(t.Text() + ", " + t.Text()), nil
}

func behaving(t *testing.T, list ...agents.Config) *config.Config {
	t.Helper()
	cfg := demo(t)
	cfg.Models, cfg.Agents = nil, nil
	for _, a := range list {
		a.Channels = []agents.Binding{{Channel: a.ID}}
		cfg.Agents = append(cfg.Agents, config.Agent{Config: a})
	}
	return cfg
}

// An agent whose behaviour cannot be had says so, and the others are served.
func TestBehaviors(t *testing.T) {
	agents.Register("parrot", func(agents.Env) (agents.Behavior, error) { return parrot{}, nil })
	cfg := behaving(t,
		agents.Config{ID: "polly", Behavior: "parrot"}, agents.Config{ID: "own", Behavior: "own"},
		agents.Config{ID: "typo", Behavior: "parot"}, agents.Config{ID: "failing", Behavior: "failing"},
		agents.Config{ID: "panicking", Behavior: "panicking"}, agents.Config{ID: "absent", Behavior: "absent"},
	)
	h := startWith(t, host.Options{Config: cfg, Log: zerolog.Nop(), Behaviors: map[string]agents.Factory{
		"own": func(env agents.Env) (agents.Behavior, error) {
			if env.Config.ID != "own" || env.NC == nil {
				t.Errorf("made for %+v", env)
			}
			return parrot{}, nil
		},
		"failing":   func(agents.Env) (agents.Behavior, error) { return nil, errors.New("no licence") },
		"panicking": func(agents.Env) (agents.Behavior, error) { panic("oh") },
		"absent":    func(agents.Env) (agents.Behavior, error) { return nil, nil },
	}})
	nc := h.Bus().NC
	for agent, want := range map[string]string{
		"polly": "hi, hi", "own": "hi, hi", "typo": "error", "failing": "error", "panicking": "error", "absent": "error",
	} {
		sub, err := nc.SubscribeSync("plugin.outbound." + agent)
		if err != nil {
			t.Fatal(err)
		}
		if err := nc.Publish("plugin.inbound."+agent, []byte("hi")); err != nil {
			t.Fatal(err)
		}
		out := next(t, sub)
		fails := out.Kind == bus.KindError && out.Error.Code == "internal" && out.Text != ""
		if !out.Final || fails != (want == "error") || !fails && out.Text != want {
			t.Errorf("%s says %+v, want %s", agent, out, want)
		}
	}
	reasons := map[string]string{
		"typo":      `behavior "parot": this program has not registered it; it has registered absent, failing, own, panicking, parrot`,
		"failing":   `behavior "failing": no licence`,
		"panicking": `behavior "panicking": panic: oh`,
		"absent":    `behavior "absent": the factory made none`,
	}
	msg, err := nc.RequestWithContext(t.Context(), client.StatusSubject, nil)
	if err != nil {
		t.Fatal(err)
	}
	status, err := client.ReadStatus(msg.Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range status.Agents {
		if want := reasons[a.ID]; a.Reason != want || (want == "") != (a.State == "ready") || want != "" && a.State != "quarantined" {
			t.Errorf("%s is %s: %s, want %s", a.ID, a.State, a.Reason, want)
		}
	}
}

// A clock notes the ticks of its agent.
type clock struct {
	parrot
	tick func(agents.Tick)
}

func (c clock) OnHeartbeat(_ context.Context, t agents.Tick) error {
	c.tick(t)
	if t.At.Unix()%2 == 0 {
		return errors.New("even")
	}
	panic("odd")
}

// Of two hosts each tick reaches a behaviour once, without a prompt, and also
// when it fails.
func TestBehaviorHearsHeartbeats(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	var mu sync.Mutex
	heard := map[time.Time]int{}
	for _, name := range []string{"a", "b"} {
		cfg := behaving(t, agents.Config{ID: "ana", Behavior: "clock"})
		cfg.NATS.URL, cfg.HTTP.Listen = url, ""
		cfg.Agents[0].Heartbeat = heartbeat.Config{Enabled: true, Interval: time.Second}
		startWith(t, host.Options{Config: cfg, Name: name, Log: zerolog.Nop(), Behaviors: map[string]agents.Factory{
			"clock": func(agents.Env) (agents.Behavior, error) {
				return clock{tick: func(tick agents.Tick) {
					mu.Lock()
					defer mu.Unlock()
					heard[tick.At.UTC()]++
				}}, nil
			},
		}})
	}
	waittest.Until(t, "ticks", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(heard) >= 3
	})
	mu.Lock()
	defer mu.Unlock()
	for at, n := range heard {
		if n != 1 {
			t.Errorf("tick %v was heard %d times", at, n)
		}
	}
}
