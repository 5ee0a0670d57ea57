package host_test

import (
	"slices"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/waittest"
	"agenthost/internal/why"
)

// A message that waits behind pauses names each of them, with who has paused it and the
// command that lets it go on; no other.
func TestWhyPaused(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{Channel: "demo", Instance: "sales"}))
	c := clientOf(h)
	for _, p := range []client.Pause{
		{Target: client.PauseTarget{Agent: "demo"}, By: "cli:bo", Reason: "the shop moves"},
		{Target: client.PauseTarget{Channel: "demo"}},
		{Target: client.PauseTarget{Channel: "demo.sales"}},
		{Target: client.PauseTarget{Channel: "demo.other"}},
		{Target: client.PauseTarget{Agent: "other"}},
	} {
		if _, err := c.Pause(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, h.Bus().NC, "plugin.inbound.demo.sales", bus.Inbound{ID: "m1", From: "ana", Text: "hello"})
	waittest.Until(t, "m1 is in the log", func() bool { return stored(t, h, bus.SessionsStream) == 1 })
	paused := func() (all []string) {
		w := way(t, h, "m1")
		for _, step := range w.Steps {
			if step.What == why.Paused && step.Agent == "demo" && w.State == why.Waiting {
				all = append(all, step.Name+", "+step.Detail)
			}
		}
		return all
	}
	want := []string{
		`agent demo, by cli:bo since *: the shop moves; "agenthost resume demo" ends it`,
		`channel demo, since *; "agenthost resume --channel demo" ends it`,
		`channel demo.sales, since *; "agenthost resume --channel demo.sales" ends it`,
	}
	got := paused()
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i, w := range want {
		before, after, _ := strings.Cut(w, "*")
		if !strings.HasPrefix(got[i], before) || !strings.HasSuffix(got[i], after) {
			t.Errorf("got %s, want %s", got[i], w)
		}
	}

	for _, target := range []client.PauseTarget{{Agent: "demo"}, {Channel: "demo"}, {Channel: "demo.sales"}} {
		if err := c.Resume(t.Context(), target); err != nil {
			t.Fatal(err)
		}
	}
	waittest.Until(t, "an answer", func() bool { return way(t, h, "m1").State == why.Answered })
	if got := paused(); len(got) != 0 {
		t.Errorf("after the answer: got %q", got)
	}
}

// What no host has taken yet waits for a pause of its channel, or of the agent it is for.
func TestWhyPausedWithoutHost(t *testing.T) {
	t.Parallel()
	h, _ := start(t, bound(t, agents.Binding{}))
	c := clientOf(h)
	for _, p := range []client.Pause{{Target: client.PauseTarget{Agent: "gone"}}, {Target: client.PauseTarget{Channel: "web"}}} {
		if _, err := c.Pause(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	publish(t, h.Bus().NC, "plugin.inbound.web.shop", bus.Inbound{ID: "m1", From: "ana", Text: "hello"})
	publish(t, h.Bus().NC, "plugin.inbound.irc", bus.Inbound{ID: "m2", From: "ana", Text: "hello", Agent: "gone"})
	publish(t, h.Bus().NC, "plugin.inbound.irc", bus.Inbound{ID: "m3", From: "ana", Text: "hello"})
	waittest.Until(t, "all are stored", func() bool { return stored(t, h, bus.InboundStream) == 3 })
	for id, want := range map[string]string{"m1": "channel web", "m2": "agent gone", "m3": ""} {
		w := way(t, h, id)
		last := w.Steps[len(w.Steps)-1]
		if is := last.What == why.Paused; is != (want != "") || is && last.Name != want {
			t.Errorf("%s: got %s, %+v, want %q", id, w.State, last, want)
		}
	}
}

// Of several agents that get a message, the one that is paused keeps it waiting.
func TestWhyOneOfSeveralIsPaused(t *testing.T) {
	t.Parallel()
	cfg := bound(t, agents.Binding{Channel: "demo"})
	other := cfg.Agents[0]
	other.ID = "other"
	cfg.Agents = append(cfg.Agents, other)
	h, _ := start(t, cfg)
	if _, err := clientOf(h).Pause(t.Context(), client.Pause{Target: client.PauseTarget{Agent: "other"}}); err != nil {
		t.Fatal(err)
	}
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{ID: "m1", From: "ana", Text: "hello"})
	waittest.Until(t, "one answers and the other keeps it", func() bool { return stored(t, h, bus.SessionsStream) == 2 })
	w := way(t, h, "m1")
	has := func(what, agent string) bool {
		return slices.ContainsFunc(w.Steps, func(s why.Step) bool { return s.What == what && s.Agent == agent })
	}
	if w.State != why.Waiting || !has(why.Replied, "demo") || !has(why.Paused, "other") || has(why.Paused, "demo") {
		t.Errorf("got %s, %+v", w.State, w.Steps)
	}
}
