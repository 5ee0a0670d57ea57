//go:build long

package host_test

import (
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/client"
	"agenthost/hooks"
	"agenthost/internal/control"
	"agenthost/internal/waittest"
)

// A session that nothing was said in for as long as its agent keeps it is gone,
// also from memory, and the person starts over; that of another agent stays.
func TestRetention(t *testing.T) {
	t.Parallel()
	const agents = "agents: [{id: ana, channels: [web], retention: {sessions: %}}, {id: bob, channels: [web]}]\n" +
		"hooks: [{on: on_session_end, subject: acme.end, agents: [ana]}]\n"
	r := startReloadable(t, "", oldModels+strings.Replace(agents, "%", "1d", 1), nil)
	nc := r.Bus().NC
	ended := respond(t, nc, "acme.end", carryOn)
	out := outbound(t, nc, 2)
	publish(t, nc, "plugin.inbound.web", bus.Inbound{From: "eve", Text: "hi"})
	out()
	sessions := func() map[string]int {
		list := client.SessionListing{}
		answerTo(t, nc, control.SessionsSubject, client.SessionPage{}, &list)
		of := map[string]int{}
		for _, s := range list.Sessions {
			of[s.Agent]++
		}
		return of
	}
	if got := sessions(); got["ana"] != 1 || got["bob"] != 1 {
		t.Fatalf("got %v, want a session each", got)
	}
	r.must(oldModels+strings.Replace(agents, "%", "1s", 1), "agent ana: changed")
	select {
	case call := <-ended:
		if call.Hook != hooks.OnSessionEnd || string(call.Args["reason"]) != `"deleted"` {
			t.Errorf("got %+v", call)
		}
	case <-time.After(waittest.Within):
		t.Fatal("the session is still in memory")
	}
	if got := sessions(); got["ana"] != 0 || got["bob"] != 1 {
		t.Errorf("got %v, want that of bob alone", got)
	}
}
