package host_test

import (
	"testing"

	"agenthost/bus"
)

// A changed default counts from the next turn on, for the agents that go by it
// and for no other.
func TestReloadAppliesDefaults(t *testing.T) {
	t.Parallel()
	const models = "models: {main: {provider: scripted, script: old.rules}, other: {provider: scripted, script: new.rules}}\n"
	const agents = "agents: [{id: ana, channels: [web]}, {id: bob, model: main, channels: [phone]}]\n"
	r := startReloadable(t, "", models+agents+"defaults: {model: main}\n", nil)
	nc := r.Bus().NC
	sub, err := nc.SubscribeSync("plugin.outbound.*")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(channel, want string) {
		t.Helper()
		publish(t, nc, "plugin.inbound."+channel, bus.Inbound{From: "eve", Text: "hi"})
		if reply := next(t, sub); reply.Text != want {
			t.Errorf("%s: got %+v, want %q", channel, reply, want)
		}
	}
	ask("web", "old")
	ask("phone", "old")
	r.must(models+agents+"defaults: {model: other}\n", "agent ana: changed")
	ask("web", "new")
	ask("phone", "old")
	if got := r.reload(models + agents + "defaults: {model: nosuch}\n"); len(got.Refused) != 1 {
		t.Errorf("a default that nothing has: got %+v", got)
	}
	ask("web", "new")
}
