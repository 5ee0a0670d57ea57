package engine_test

import (
	"fmt"
	"testing"
	"time"

	"agenthost/bus"
)

// TestMemoryIsRelieved checks that a host short of memory drops idle sessions
// and slows down, answers all the same, and runs at full speed when there is
// room again.
func TestMemoryIsRelieved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(`rules: [{text: "${text}"}]`)))
	const people = 16
	for i := range people {
		w.say("ana", bus.Inbound{From: fmt.Sprint("user", i), Text: "one"})
		w.hear()
	}
	w.settled()
	sessions := func() int { return w.fleet.Status()[0].Sessions }
	w.fleet.Relieve(80, 0)
	if got := sessions(); got != people || w.fleet.BrakePause() != 0 {
		t.Errorf("%d sessions and a pause of %v with enough memory, want %d and none", got, w.fleet.BrakePause(), people)
	}
	w.fleet.Relieve(85, 0)
	if got := sessions(); got != people || w.fleet.BrakePause() == 0 {
		t.Errorf("%d sessions and a pause of %v, want %d and one: slowing down comes first", got, w.fleet.BrakePause(), people)
	}
	for range 100 {
		w.fleet.Relieve(85, time.Hour)
	}
	if got := sessions(); got != people {
		t.Errorf("%d sessions are in memory, want %d: none has been idle for long", got, people)
	}
	for range 100 {
		w.fleet.Relieve(85, 0)
	}
	if got := sessions(); got != 0 {
		t.Errorf("%d sessions are in memory, want none", got)
	}
	w.say("ana", bus.Inbound{From: "user0", Text: "two"})
	w.hear()
	for range 100 {
		w.fleet.Relieve(50, 0)
	}
	if got := w.fleet.BrakePause(); got != 0 {
		t.Errorf("a pause of %v with enough memory again, want none", got)
	}
}
