//go:build long

package host_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/internal/waittest"
)

func TestEventsOfAPI(t *testing.T) {
	t.Parallel()
	h, _ := start(t, apiFleet(t))
	events, stop := listen(t, h, readToken, "", "")
	await(t, events, "the stream has begun", named("hello"))
	w := asked(t, h, "write")
	got := await(t, events, "the run waits", named("run", `"state":"waiting"`))
	for _, e := range got {
		t.Logf("EXAMPLE event %s\n%s\n", e.name, e.data)
		if e.id == "" || !json.Valid([]byte(e.data)) {
			t.Errorf("got %+v", e)
		}
	}
	if !slices.ContainsFunc(got, named("waiting", `"state":"asked"`, w.ID)) || !slices.ContainsFunc(got, named("session", `"run.started"`)) || !slices.ContainsFunc(got, named("run", `"state":"started"`)) {
		t.Errorf("the beginning of the run is missing: %+v", got)
	}
	last := got[len(got)-1].id
	stop()

	// while no client is connected
	orderAPI(t, h, "/api/approvals/answer", map[string]any{"id": w.ID, "answer": "deny"})
	waittest.Until(t, "the run has ended", func() bool {
		return strings.Contains(string(askAPI(t, h, "/api/sessions", "agent", "demo").body), `"state":"idle"`)
	})
	events, stop = listen(t, h, readToken, "?agent=demo&session="+url.QueryEscape(w.Session), last)
	got = await(t, events, "what was missed", named("run", `"ended"`))
	if !slices.ContainsFunc(got, named("waiting", `"answered"`, `"deny"`, `"operator"`)) {
		t.Errorf("the answer is missing: %+v", got)
	}
	await(t, events, "the log of the session", named("event", `"run.finished"`))
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "eve", Text: "of another session"})
	publish(t, h.Bus().NC, "plugin.inbound.demo", bus.Inbound{From: "ana", Text: "of this session"})
	got = await(t, events, "its own events", named("event", "of this session"))
	got = append(got, await(t, events, "a sign of life", named("comment"))...)
	if slices.ContainsFunc(got, func(e sseEvent) bool { return strings.Contains(e.data, "dm/eve") }) {
		t.Errorf("events of another session came: %+v", got)
	}
	stop()
}
