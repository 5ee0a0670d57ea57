package engine_test

import (
	"testing"

	"agenthost/bus"
	"agenthost/session"
)

// What somebody else writes into a session's log delays nobody there, neither
// on the host that has the session in memory nor on the next.
func TestForeignMessagesInALog(t *testing.T) {
	t.Parallel()
	ana := bot("ana", script(`rules: [{text: "You said: ${text}"}]`))
	w := newWorld(t, ana)
	log := session.Subject("ana", session.SID("ana", session.DM("ana", "", "ana")))
	for _, text := range []string{"one", "two", "three"} {
		w.say("ana", bus.Inbound{Text: text})
		w.expect("reply", "You said: "+text)
		w.settled()
		if _, err := w.bus.JS.Publish(t.Context(), log, []byte("not a commit")); err != nil {
			t.Fatal(err)
		}
		if text == "two" {
			w.stop()
			w.start(ana)
		}
	}
}
