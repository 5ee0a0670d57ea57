//go:build long

package engine_test

import (
	"context"
	"testing"
	"time"

	"agenthost/agents/engine"
	"agenthost/bus"
	"agenthost/internal/waittest"
)

// A task waits for an agent that another host of the fleet serves.
func TestTaskOfAnotherHostsAgentWaits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.stop()
	asked := make(chan struct{}, 1000)
	w.change = func(p *engine.Options) {
		p.Served = func(context.Context) (engine.Served, error) {
			asked <- struct{}{}
			return engine.Served{Hosts: 2, Agents: []string{"ghost"}}, nil
		}
	}
	came := w.results("results.of.ghost")
	w.task("ghost", "1", "results.of.ghost", 0)
	w.start(echoing("ana", "demo"))
	for range 2 { // the first look has come to its end
		<-asked
	}
	if len(came) > 0 || w.letters("ghost") != 0 || w.routes("ghost") != 1 {
		t.Errorf("it was ended: %d results, %d dead letters", len(came), w.letters("ghost"))
	}
}

// A message that an agent had not answered when it was removed, and its host stopped,
// comes again to a host without the agent: it is answered with an error, and is a dead
// letter. One that was answered is not answered again.
func TestMessageThatComesAgainAfterTheRemovalIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t, suspect("ana"), echoing("bob", "other"))
	w.say("ana", bus.Inbound{ID: "1", From: "u1", Text: "hang"})
	waittest.Until(t, "the run", func() bool { return w.status("ana").Running == 1 })
	if err := w.fleet.Change(t.Context(), []*engine.Runtime{w.fleet.Runtime("bob")}, nil); err != nil {
		t.Fatal(err)
	}
	w.stop()
	w.start(echoing("bob", "other"))
	out := w.hear()
	if out.Kind != "error" || !out.Final || out.InReplyTo != "1" || out.Agent != "ana" || out.To != "u1" || out.Error.Code != "tool_unavailable" {
		t.Errorf("got %+v", out)
	}
	waittest.Until(t, "it is acknowledged", func() bool { return w.unacknowledged("ana") == 0 && w.letters("ana") == 1 })
	w.silent()
}

// The same after a restart with another configuration, for a task: it waits until its
// deadline, as another host may know the agent.
func TestTaskOfAnAgentThatIsGoneAfterARestartIsEnded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, suspect("ana"), echoing("bob", "other"))
	w.stop()
	came := w.results("results.of.ana")
	w.task("ana", "1", "results.of.ana", time.Second)
	w.start(echoing("bob", "other"))
	if r := w.result(came); r.Error == nil || r.InReplyTo != "1" || r.From != "ana" {
		t.Errorf("got %+v", r)
	}
	waittest.Until(t, "it is a dead letter", func() bool { return w.unacknowledged("ana") == 0 && w.letters("ana") == 1 })
}
