package engine_test

import (
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/session"
)

// The debounce of an agent holds for its bindings.
func TestDebounceOfTheAgent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, bot("ana", script(`rules: [{text: "You said: ${text}"}]`), func(a *actor) {
		a.cfg.Session = session.Config{Queue: session.Collect, Debounce: 2 * time.Second}
	}))
	w.say("ana", bus.Inbound{Text: "one"})
	w.say("ana", bus.Inbound{Text: "two"})
	if out := w.hear(); out.Text != "You said: one\ntwo" {
		t.Errorf("heard %+v", out)
	}
}
