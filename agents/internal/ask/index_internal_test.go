package ask

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

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
	if list := q.At(nil, all, InSession("web/dm/ana")); len(list) != 1 || list[0].ID != "other" {
		t.Errorf("asked in the chat of bob: %v, want other", list)
	}
	for _, id := range []string{"task", "own", "other"} {
		if q.close(id); !q.Calm() && id == "other" {
			t.Error("the index is not calm though nothing waits")
		}
		if key, ok := q.Session(id); ok {
			t.Errorf("%s is forgotten, and waits in %q", id, key)
		}
	}
}

// What waits for a person is counted by agent and kind, once, wherever it was asked: also that of
// a program, which asks in no chat.
func TestIndexCountsWhatIsOpen(t *testing.T) {
	t.Parallel()
	q := NewIndex()
	want := func(approvals, questions, others int) {
		t.Helper()
		got := []int{q.Approvals("ana"), q.Questions("ana"), q.Approvals("bob")}
		if !slices.Equal(got, []int{approvals, questions, others}) {
			t.Errorf("got %d, want %d approvals and %d questions of ana, and %d approvals of bob", got, approvals, questions, others)
		}
	}
	want(0, 0, 0)
	chat := &bus.Origin{Agent: "ana", Session: "web/dm/ana"}
	approval := Waiting{ID: "own", Agent: "ana", Session: "web/dm/ana", Kind: run.ForApproval, Origin: chat}
	for _, w := range []Waiting{
		approval,
		{ID: "program", Agent: "ana", Session: "route/cli/x", Kind: run.ForApproval},
		{ID: "away", Agent: "bob", Session: "route/ana/y", Kind: run.ForApproval, Origin: chat},
		{ID: "question", Agent: "ana", Session: "web/dm/ana", Kind: run.ForQuestion, Origin: chat},
		{ID: "task", Agent: "ana", Session: "web/dm/ana", Kind: run.ForDelegate, Origin: chat},
	} {
		q.add(w)
	}
	want(2, 1, 1)
	approval.Number = 1
	q.add(approval) // it is written again with its number
	want(2, 1, 1)
	for _, id := range []string{"own", "own", "away", "task", "unknown"} {
		q.close(id)
	}
	want(1, 1, 0)
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
		if got := q.highest(w); got != n {
			t.Errorf("the highest number where %s asks is %d, want %d", w.ID, got, n)
		}
	}
	q.add(own)
	want(task, 1)
	want(own, 0) // its log knows what it has asked itself
	want(beside, 1)
	if !q.Calm() {
		t.Error("the index is not calm though all hear the answers themselves")
	}
	q.add(task)
	q.add(task) // it comes once more, from the bucket
	want(own, 2)
	want(beside, 2)
	if q.Calm() {
		t.Error("the index is calm though a task has asked in a chat")
	}
	q.close("task")
	want(own, 0)
	q.add(own) // as well
	if q.close("own"); !q.Calm() || len(q.at)+len(q.own) > 0 {
		t.Errorf("calm %t, left %v and %v", q.Calm(), q.at, q.own)
	}
}

// What the clock begins asks at an address. The conversation that is there counts with it, and
// so does what an approver is asked there.
func TestHighestNumberAtAnAddress(t *testing.T) {
	t.Parallel()
	const web = "plugin.outbound.web"
	own := Waiting{ID: "own", Agent: "ana", Session: "web/dm/bea/two", Kind: run.ForApproval, Origin: &bus.Origin{
		Agent: "ana", Session: "web/dm/bea/two", Subject: web, To: "bea", Chat: "c7",
	}}
	group := Waiting{ID: "group", Agent: "ana", Session: "web/group/team/t1", Kind: run.ForApproval, Number: 3, Origin: &bus.Origin{
		Agent: "ana", Session: "web/group/team/t1", Subject: web, To: "bea", Chat: "team", Thread: "t1",
	}}
	clock := func(to, chat, thread string) Waiting {
		return Waiting{ID: "clock", Agent: "ana", Session: "schedule/daily", Kind: run.ForApproval, Origin: &bus.Origin{
			Agent: "ana", Subject: web, To: to, Chat: chat, Thread: thread,
		}}
	}
	notified := Waiting{ID: "notified", Agent: "ana", Session: "web/dm/cyd", Kind: run.ForApproval, Approvers: []string{"web/bea"}, Notified: true, Origin: &bus.Origin{
		Agent: "ana", Session: "web/dm/cyd", Subject: web, To: "cyd",
	}}
	tests := map[string]struct {
		open []Waiting
		next Waiting
		want int
	}{
		"the clock, after a conversation": {[]Waiting{own}, clock("bea", "", ""), 1},
		"a conversation, after the clock": {[]Waiting{clock("bea", "", "")}, own, 1},
		"another person":                  {[]Waiting{own}, clock("cyd", "", ""), 0},
		"the clock, after a group":        {[]Waiting{own, group}, clock("", "team", "t1"), 3},
		"a group, after the clock":        {[]Waiting{clock("", "team", "t1")}, group, 1},
		"another thread":                  {[]Waiting{group}, clock("", "team", "t2"), 0},
		"the sender of a group":           {[]Waiting{group}, clock("bea", "", ""), 0},
		"an approver who is asked":        {[]Waiting{own}, notified, 1},
		"a conversation of an approver":   {[]Waiting{notified}, own, 1},
	}
	for name, test := range tests {
		q := NewIndex()
		for _, w := range test.open {
			q.add(w)
		}
		if got := q.highest(test.next); got != test.want {
			t.Errorf("%s: the highest number is %d, want %d", name, got, test.want)
		}
	}
}

// Who asks in a chat at the same time as another gets the numbers behind.
func TestNumbersAreTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewIndex()
		q.whole()
		ana := Waiting{ID: "a", Agent: "ana", Session: "web/dm/ana", Kind: run.ForApproval, Origin: &bus.Origin{Agent: "ana", Session: "web/dm/ana"}}
		task := Waiting{ID: "t", Agent: "ops", Session: "route/ana/task", Kind: run.ForApproval, Origin: ana.Origin}
		bob := Waiting{ID: "b", Agent: "bob", Session: "web/dm/ana", Kind: run.ForApproval, Origin: &bus.Origin{Agent: "bob", Session: "web/dm/ana"}}
		want := func(w Waiting, n, first int) {
			t.Helper()
			if got := q.TakeNumbers(w, 0, n); got != first {
				t.Errorf("%s asks from %d on, want %d", w.ID, got, first)
			}
		}
		want(ana, 2, 1)
		want(bob, 1, 3)
		want(task, 1, 4)
		want(bob, 1, 5) // it asks once more
		q.add(ana)
		q.close("a")
		want(ana, 1, 6)
		time.Sleep(takenFor + time.Second)
		synctest.Wait()
		want(ana, 1, 1)
		time.Sleep(takenFor + time.Second)
		synctest.Wait()
		if len(q.taken) > 0 {
			t.Errorf("left: %v", q.taken)
		}
	})
}

// An agent knows the questions of the other agents in its chat. It knows an answered one as
// well, for messages that were stored before the answer.
func TestQuestionsOfOthersInAConversation(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := NewIndex()
		q.whole()
		const key = session.Key("web/dm/ana")
		asked := time.Now()
		q.add(Waiting{ID: "own", Agent: "ana", Session: string(key), Kind: run.ForApproval, Origin: &bus.Origin{Agent: "ana", Session: string(key)}, AskedAt: asked})
		q.add(Waiting{ID: "task", Agent: "ops", Session: "route/ana/task", Kind: run.ForQuestion, Options: []string{"red"}, Number: 2, Origin: &bus.Origin{Agent: "ana", Session: string(key)}, AskedAt: asked})
		want := func(agent string, stored time.Time, ids ...string) {
			t.Helper()
			var got []string
			for _, w := range q.OfOthers(agent, key, stored) {
				got = append(got, w.ID)
			}
			if !slices.Equal(got, ids) {
				t.Errorf("others than %s have asked %q, want %q", agent, got, ids)
			}
		}
		want("bob", asked, "own", "task")
		want("ana", asked)
		stored := asked.Add(time.Second)
		q.close("own")
		q.close("own")                                      // the bucket says so as well
		want("bob", stored.Add(time.Minute), "own", "task") // when is not known yet
		q.closed.deleted("own", stored.Add(time.Millisecond))
		want("bob", stored, "own", "task")
		want("bob", stored.Add(time.Second), "task")
		q.close("task")
		q.closed.deleted("task", stored)
		want("bob", stored, "own")
		want("bob", stored.Add(-time.Second), "own", "task")
		time.Sleep(rememberClosed + time.Second)
		q.add(Waiting{ID: "next", Agent: "ana", Session: string(key), Kind: run.ForApproval, Origin: &bus.Origin{Agent: "ana", Session: string(key)}})
		q.close("next")
		want("bob", stored.Add(-time.Second), "next")
		if len(q.closed.in) != 1 || len(q.closed.keys) != 1 || len(q.closed.due) != 1 {
			t.Errorf("remembered: %v", q.closed)
		}
	})
}
