//go:build long

package engine_test

import (
	"context"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
)

// An order to stop reaches a behaviour that does not look at its context.
func TestBehaviorIsStopped(t *testing.T) {
	t.Parallel()
	begun, release := make(chan struct{}), make(chan struct{})
	defer close(release)
	w := newWorld(t, bot("ana", does(doer{decide: func(context.Context, agents.Turn) (agents.Answer, error) {
		close(begun)
		<-release
		return agents.Say("late"), nil
	}})))
	w.say("ana", bus.Inbound{Text: "wait"})
	<-begun
	w.say("ana", bus.Inbound{Text: "/stop"})
	if out := w.hear(); codeOf(out) != "cancelled" {
		t.Errorf("got %+v", out)
	}
}
