package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"agenthost/bus/bustest"
	"agenthost/client"

	"github.com/nats-io/nats.go"
)

// twoHosts is a fleet of which a answers at once and b, which is busy, later. Each has an
// agent and a model of its own.
func twoHosts(t *testing.T, later time.Duration) *client.Client {
	t.Helper()
	b := bustest.Open(t)
	answer := func(subject string, after time.Duration, with any) {
		data, err := json.Marshal(with)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.NC.Subscribe(subject, func(m *nats.Msg) {
			time.AfterFunc(after, func() { _ = m.Respond(data) })
		}); err != nil {
			t.Fatal(err)
		}
	}
	for host, after := range map[string]time.Duration{"a": 0, "b": later} {
		agent := client.AgentStatus{}
		agent.ID = "agent-" + host
		answer(client.StatusSubject, after, client.Status{
			Host: host, Agents: []client.AgentStatus{agent}, Models: []client.ModelStatus{{Name: "model-" + host}},
		})
		answer(client.BreakerSubject, after, struct{}{})
	}
	answer(client.DrainSubject, later, struct{}{})
	return client.New(b.NC, b.JS, client.Options{})
}

// What a busy host has is not called unknown because another one answers faster.
func TestBusyHostIsHeard(t *testing.T) {
	asks := map[string]func(t *testing.T, c *client.Client, of string) error{
		"agent": func(t *testing.T, c *client.Client, of string) error {
			_, err := c.HostsOf(t.Context(), "agent-"+of)
			return err
		},
		"model": func(t *testing.T, c *client.Client, of string) error {
			_, err := c.TripModel(t.Context(), "model-"+of)
			return err
		},
		"host": func(t *testing.T, c *client.Client, of string) error { return c.Drain(t.Context(), of) },
	}
	for what, ask := range asks {
		t.Run(what, func(t *testing.T) {
			bustest.Bubble(t, func(t *testing.T) {
				c := twoHosts(t, 400*time.Millisecond)
				if err := ask(t, c, "b"); err != nil {
					t.Errorf("of the busy host: %v", err)
				}
				_, isUnknown := errors.AsType[*client.UnknownError](ask(t, c, "z"))
				if !isUnknown {
					t.Error("what no host has is not an UnknownError")
				}
			})
		})
	}
}

// One that answers at once is not waited for longer than that.
func TestHostThatAnswersIsEnough(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		c := twoHosts(t, 400*time.Millisecond)
		began := time.Now()
		if _, err := c.HostsOf(t.Context(), "agent-a"); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("it took %s", took)
		}
	})
}

// A host that ends is busy with that.
func TestBusyHostHasNotLeft(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		c := twoHosts(t, 400*time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := c.Left(ctx, "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("it is there, and it has left: %v", err)
		}
		if err := c.Left(t.Context(), "z"); err != nil {
			t.Error(err)
		}
	})
}
