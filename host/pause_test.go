package host_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/client"
	"agenthost/internal/waittest"
)

// What comes while a channel is paused is kept, takes no slot, and begins in its order
// when it goes on.
func TestPausedChannelKeepsAll(t *testing.T) {
	t.Parallel()
	h, _ := start(t, demo(t))
	nc, c := h.Bus().NC, clientOf(h)
	target := client.PauseTarget{Channel: "demo"}
	if _, err := c.Pause(t.Context(), client.Pause{Target: target, By: "bo"}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the host knows of the pause", func() bool {
		resp, err := http.Get("http://" + h.HTTP() + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var body map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		words, _ := body["paused channel demo"].(string)
		return strings.HasPrefix(words, "by bo since ")
	})
	const sessions, each = 3, 60
	out := outbound(t, nc, sessions*each)
	for i := range each {
		for s := range sessions {
			publish(t, nc, "plugin.inbound.demo", bus.Inbound{ID: fmt.Sprint(i), From: fmt.Sprint(s), Text: fmt.Sprint(i)})
		}
	}
	waittest.Until(t, "all messages are in the logs", func() bool {
		stream, err := h.Bus().JS.Stream(t.Context(), bus.InboundStream)
		if err != nil {
			t.Fatal(err)
		}
		if stream.CachedInfo().State.Msgs < sessions*each {
			return false
		}
		for info := range stream.ListConsumers(t.Context()).Info() {
			if info.NumAckPending > sessions || info.NumPending > 0 { // the newest stands for those before it
				return false
			}
		}
		return true
	})
	if err := c.Resume(t.Context(), target); err != nil {
		t.Fatal(err)
	}
	next := map[string]int{}
	for _, r := range out() {
		if want := fmt.Sprint(next[r.To]); r.Text != want {
			t.Fatalf("%s gets %q, want %q", r.To, r.Text, want)
		}
		next[r.To]++
	}
}

// What was under way goes on while its agent is paused, when a person answers it, and
// can be stopped.
func TestPausedAgentGoesOnWithWhatItHasBegun(t *testing.T) {
	t.Parallel()
	h := scriptedHost(t, `  - {is: ask, tool_calls: [{name: ask_human, args: {question: "Which colour?"}}]}
  - {after_tool: ask_human, text: "You like ${result}."}
  - {is: long, delay: 1h, text: never}
`, "tools: [ask_human]")
	nc, c := h.Bus().NC, clientOf(h)
	asked := outbound(t, nc, 1)
	publish(t, nc, "plugin.inbound.web", bus.Inbound{From: "bo", Text: "ask"})
	publish(t, nc, "plugin.inbound.web", bus.Inbound{From: "cy", Text: "long"})
	if q := asked()[0]; q.Kind != bus.KindQuestion {
		t.Fatalf("got %+v", q)
	}
	seen(t, nc, func(runs []client.RunStatus) bool { return len(runs) == 1 && runs[0].Session == "web/dm/cy" })
	if _, err := c.Pause(t.Context(), client.Pause{Target: client.PauseTarget{Agent: "ana"}}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the host knows of the pause", func() bool {
		hosts, err := c.Hosts(t.Context())
		return err == nil && len(hosts) > 0 && hosts[0].Agents[0].Paused != ""
	})
	ends := outbound(t, nc, 2)
	publish(t, nc, "plugin.inbound.web", bus.Inbound{From: "bo", Text: "blue"})
	publish(t, nc, "plugin.inbound.web", bus.Inbound{From: "cy", Text: "/stop"})
	got := map[string]string{}
	for _, r := range ends() {
		got[r.To] = r.Text
	}
	if got["bo"] != "You like blue." || !strings.Contains(got["cy"], "topped") {
		t.Errorf("got %q", got)
	}
}

// What is paused of the channels of an agent is in its status; it is paused itself once all are.
func TestPausedChannelIsInTheStatus(t *testing.T) {
	t.Parallel()
	cfg := demo(t)
	cfg.Agents[0].Channels = []agents.Binding{{Channel: "web"}, {Channel: "irc", Instance: "one"}, {Channel: "mail", Instance: "*"}}
	h, _ := start(t, cfg)
	c := clientOf(h)
	pause := func(channel string) {
		t.Helper()
		if _, err := c.Pause(t.Context(), client.Pause{Target: client.PauseTarget{Channel: channel}, By: "bo"}); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(paused bool, channels ...string) {
		t.Helper()
		waittest.Until(t, fmt.Sprint("the status shows ", channels), func() bool {
			hosts, err := c.Hosts(t.Context())
			if err != nil || len(hosts) == 0 {
				return false
			}
			a := hosts[0].Agents[0]
			return slices.Equal(a.PausedChannels, channels) && strings.HasPrefix(a.Paused, "by bo since ") == paused
		})
	}
	pause("web")
	pause("other")
	shows(false, "web")
	pause("mail.sales")
	shows(false, "mail.sales", "web")
	pause("irc")
	shows(false, "irc", "mail.sales", "web")
	pause("mail")
	shows(true, "irc", "mail", "mail.sales", "web")
	if err := c.Resume(t.Context(), client.PauseTarget{Channel: "web"}); err != nil {
		t.Fatal(err)
	}
	shows(false, "irc", "mail", "mail.sales")
}
