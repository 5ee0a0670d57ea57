package ask

import (
	"testing"

	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"
)

func TestIndexKnowsTheSessionOfAllThatWaits(t *testing.T) {
	t.Parallel()
	q := NewIndex()
	chat := &bus.Origin{Agent: "bob", Session: "web/dm/ana", Subject: "plugin.outbound.web", To: "ana"}
	for _, w := range []Waiting{
		{ID: "task", Agent: "ana", Session: "web/dm/eve", Kind: run.ForDelegate},
		{ID: "own", Agent: "ana", Session: "web/dm/ana", Kind: run.ForApproval, Origin: &bus.Origin{Agent: "ana", Session: "web/dm/ana"}},
		{ID: "other", Agent: "ana", Session: "schedule/daily", Kind: run.ForQuestion, Origin: chat},
	} {
		q.add(w)
		if key, ok := q.Session(w.ID); !ok || key != session.Key(w.Session) {
			t.Errorf("%s waits in %q, %t; want %q", w.ID, key, ok, w.Session)
		}
	}
	q.whole()
	all := func(Waiting) bool { return true }
	if list := q.At(nil, all, InSession("bob", "web/dm/ana")); len(list) != 1 || list[0].ID != "other" {
		t.Errorf("asked in the chat of bob: %v, want other", list)
	}
	for _, id := range []string{"task", "own", "other"} {
		if q.forget(id); !q.Calm() && id == "other" {
			t.Error("the index is not calm though nothing waits")
		}
		if key, ok := q.Session(id); ok {
			t.Errorf("%s is forgotten, and waits in %q", id, key)
		}
	}
}
