//go:build long

package engine_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
	"agenthost/tools"
)

// When the time of a task is over, so is the run that works on it, though it waits for a
// person: they are told, and what they say then has no effect.
func TestTaskThatWaitsEndsWithItsTime(t *testing.T) {
	t.Parallel()
	t.Run("for an approval", func(t *testing.T) {
		var n atomic.Int64
		w := newWorld(t, hasty("ana", "ops"), payer("ops", &n))
		w.say("ana", bus.Inbound{Text: "hand over"})
		id := w.hear().Call
		if got := w.words(2); !slices.Equal(got, []string{unpaid, noResult}) {
			t.Fatalf("heard %q", got)
		}
		w.wantOver(id, &n)
	})
	t.Run("for an answer", func(t *testing.T) {
		var n atomic.Int64
		ops := bot("ops", script(`
rules:
  - {after_tool: "*", tool_calls: [{name: pay, args: {}}]}
  - {tool_calls: [{name: ask_human, args: {}}]}
`), has(counter(&n), asking(tools.Wait{Question: true, Prompt: "Which?", Default: "red"})))
		w := newWorld(t, hasty("ana", "ops"), ops)
		w.say("ana", bus.Inbound{Text: "hand over"})
		id := w.hear().Call
		if got := w.words(2); !slices.Equal(got, []string{"notice No answer came in time to this question: Which?", noResult}) {
			t.Fatalf("heard %q", got)
		}
		w.wantOver(id, &n)
	})
	t.Run("for another agent", func(t *testing.T) {
		var n atomic.Int64
		mid := bot("mid", script(`rules: [{after_tool: "*", tool_calls: [{name: delegate, args: {}}]}, {tool_calls: [{name: delegate, args: {}}]}]`), has(handing("ops")), asks("ops"))
		w := newWorld(t, hasty("ana", "mid"), mid, payer("ops", &n))
		w.say("ana", bus.Inbound{Text: "hand over"})
		id := w.hear().Call
		if got := w.words(2); !slices.Equal(got, []string{unpaid, noResult}) {
			t.Fatalf("heard %q", got)
		}
		w.wantOver(id, &n)
	})
	t.Run("for several answers", func(t *testing.T) {
		var n atomic.Int64
		ops := bot("ops", script(`
rules:
  - {after_tool: "*", tool_calls: [{name: pay, args: {}}]}
  - {tool_calls: [{name: pay, args: {}}, {name: pay, args: {}}]}
`), has(counter(&n)))
		w := newWorld(t, hasty("ana", "ops"), ops)
		w.say("ana", bus.Inbound{Text: "hand over"})
		id := w.hear().Call
		agent, key := w.asker(id)
		w.hear()
		if got := w.words(3); !slices.Equal(got, []string{unpaid, unpaid, noResult}) {
			t.Fatalf("heard %q", got)
		}
		w.wantOver(id, &n)
		if _, err := run.Replay(w.log(agent, key)); err != nil {
			t.Error(err)
		}
	})
}

// asker is the session whose run waits under id.
func (w *world) asker(id string) (agent string, key session.Key) {
	w.t.Helper()
	w.eventually("the question is noted", func() bool {
		all, err := agents.AllWaiting(w.t.Context(), w.bus.JS)
		for _, one := range all {
			if one.ID == id {
				agent, key = one.Agent, session.Key(one.Session)
			}
		}
		return err == nil && agent != ""
	})
	return agent, key
}
