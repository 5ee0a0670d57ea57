package host_test

import (
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/session"
)

const remembering = `
rules:
  - {match: '^remember ', tool_calls: [{name: remember, args: {text: "${text}"}}]}
  - {match: '^everybody ', tool_calls: [{name: remember, args: {text: "${text}", about: agent}}]}
  - {match: '^private ', tool_calls: [{name: remember, args: {text: "${text}", about: person}}]}
  - {match: '^recall ', tool_calls: [{name: recall, args: {query: "${text}"}}]}
  - {after_tool: "*", text: "${result}"}
`

// What a person has said in private is not told in a group, whoever asks, and
// survives the host.
func TestPrivateNotesStayPrivate(t *testing.T) {
	t.Parallel()
	cfg := scripted(t, remembering)
	cfg.Agents[0].Tools = []string{"remember", "recall", "forget"}
	h, stop := start(t, cfg)
	say := func(in bus.Inbound) string {
		t.Helper()
		out := outbound(t, h.Bus().NC, 1)
		publish(t, h.Bus().NC, "plugin.inbound.demo", in)
		return out()[0].Text
	}
	inGroup := func(from, text string) string {
		t.Helper()
		return say(bus.Inbound{From: from, Chat: "team", Group: true, Text: text})
	}
	for _, step := range []struct{ got, want string }{
		{say(bus.Inbound{From: "ana", Text: "remember the salary is 100"}), "Remembered for the direct chat with this person, as "},
		{inGroup("ana", "remember the salary is paid on Mondays"), "Remembered for all chats of the agent, as "},
		{inGroup("ana", "private salary is 100"), "in the direct chat with them only"},
		{say(bus.Inbound{From: "bob", Text: "everybody gets a salary"}), "Remembered for all chats of the agent, as "},
	} {
		if !strings.Contains(step.got, step.want) {
			t.Errorf("got %q, want … %s …", step.got, step.want)
		}
	}
	stop()
	h, _ = start(t, cfg)
	private := "the salary is 100"
	for who, ask := range map[string]func() string{
		"a group": func() string { return inGroup("ana", "recall salary") },
		"another": func() string { return say(bus.Inbound{From: "bob", Text: "recall salary"}) },
	} {
		if got := ask(); strings.Contains(got, private) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s hears %s", who, got)
		}
	}
	if got := say(bus.Inbound{From: "ana", Text: "recall salary"}); !strings.Contains(got, private) || strings.Count(got, "\n") != 2 {
		t.Errorf("the person hears %s", got)
	}
	list, err := clientOf(h).Notes(t.Context(), "demo", "demo/dm/ana")
	if err != nil || len(list) != 1 || list[0].Text != "remember "+private {
		t.Errorf("got %v, %v", list, err)
	}
	// The token of a person in the bucket is the sid of their chat.
	sid := session.SID("demo", session.DM("demo", "", "ana"))
	kv, err := h.Bus().JS.KeyValue(t.Context(), bus.MemoryBucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kv.Get(t.Context(), "demo."+sid+"."+list[0].ID); err != nil {
		t.Error(err)
	}
}
