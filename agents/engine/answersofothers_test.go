package engine_test

import (
	"testing"

	"agenthost/bus"
)

// An answer by the id of its question comes to all agents of the channel. The agent that has asked
// deals with it, and says what there is to say; the others are silent.
func TestAnswerToOneOfSeveralAgents(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer bus.Inbound
		want   string // by Bob
	}{
		"that it takes":    {bus.Inbound{ID: "a", Text: "approve"}, "It says: wrote note.txt"},
		"that fits not":    {bus.Inbound{ID: "a", Text: "perhaps"}, "This doesn't answer the question, which is still open. Please reply approve or deny."},
		"of another chat":  {bus.Inbound{ID: "a", Text: "approve", From: "eve"}, "Only an approver can answer this from another chat. The question is still open."},
		"to none any more": {bus.Inbound{ID: "a", Text: "approve", Answers: "bob.abcdefghijklmnopqrst.abcdefghijklmnopqrstuvwxyz"}, "There is no open question that this could answer. It may have been answered already."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r runs
			w := newWorld(t, bot("ana", script(writing), has(r.tool()), onChannel("team")), bot("bob", script(writing), has(r.tool()), onChannel("team")))
			w.say("team", bus.Inbound{Text: "write", Agent: "bob"})
			asked := w.hear()
			w.settled()
			if tt.answer.Answers == "" {
				tt.answer.Answers = asked.Call
			}
			w.say("team", tt.answer)
			if out := w.hear(); out.Agent != "bob" || out.Text != tt.want {
				t.Errorf("heard %+v, want %q of bob", out, tt.want)
			}
			w.settled()
			w.silent()
		})
	}
}
