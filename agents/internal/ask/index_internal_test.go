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

// What a session asks in its own chat is counted there with what others ask in it, and
// it is not searched for in the chats of other sessions.
func TestHighestNumberInAConversation(t *testing.T) {
	t.Parallel()
	q := NewIndex()
	q.whole()
	chat := &bus.Origin{Agent: "ana", Session: "web/dm/ana", Subject: "plugin.outbound.web", To: "ana"}
	own := Waiting{ID: "own", Agent: "ana", Session: "web/dm/ana", Kind: run.ForApproval, Origin: chat, Prompt: "May I?"}
	task := Waiting{ID: "task", Agent: "ops", Session: "route/ana/task", Kind: run.ForApproval, Origin: chat, Number: 2}
	beside := Waiting{ID: "beside", Agent: "bob", Session: "web/dm/ana", Kind: run.ForApproval, Origin: &bus.Origin{
		Agent: "bob", Session: "web/dm/ana", Subject: "plugin.outbound.web", To: "ana",
	}}
	want := func(w Waiting, n int) {
		t.Helper()
		if got := q.Highest(w); got != n {
			t.Errorf("the highest number where %s asks is %d, want %d", w.ID, got, n)
		}
	}
	q.add(own)
	want(task, 1)
	want(own, 0) // its log knows what it has asked itself
	want(beside, 0)
	if !q.Calm() {
		t.Error("the index is not calm though all hear the answers themselves")
	}
	q.add(task)
	q.add(task) // it comes once more, from the bucket
	want(own, 2)
	want(beside, 0)
	if q.Calm() {
		t.Error("the index is calm though a task has asked in a chat")
	}
	q.forget("task")
	want(own, 0)
	q.add(own) // as well
	if q.forget("own"); !q.Calm() || len(q.at)+len(q.own)+len(q.open) > 0 {
		t.Errorf("calm %t, left %v, %v and %v", q.Calm(), q.at, q.own, q.open)
	}
}
