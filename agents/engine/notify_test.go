package engine_test

import (
	"slices"
	"sync/atomic"
	"testing"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/session"
)

func notifies(a *actor) { a.cfg.Notify = agents.NotifyApprovers }

// Approvers hear of an approval in their own chats, and answer it there.
func TestApproversAreNotified(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(call string) bus.Inbound{
		"with the id": func(call string) bus.Inbound { return bus.Inbound{From: "42", Text: "approve", Answers: call} },
		"in words":    func(string) bus.Inbound { return bus.Inbound{From: "42", Text: "Yes."} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			w := newWorld(t, boss(&n, approvers("staff/42", "staff/43", "ana/ana"), notifies))
			w.say("ana", bus.Inbound{From: "ana", Text: "pay"})
			call, to := "", []string{}
			said := map[string]string{
				"42":  "Ana wants to use pay with sum=5. Chat: ana/dm/ana. Reply approve or deny.",
				"43":  "Ana wants to use pay with sum=5. Chat: ana/dm/ana. Reply approve or deny.",
				"ana": "Ana wants to use pay with sum=5. Reply approve or deny.",
			}
			for range 3 {
				out := w.hear()
				if out.Kind != bus.KindApproval || out.Final || out.Text != said[out.To] || call != "" && out.Call != call {
					t.Errorf("heard %+v", out)
				}
				call, to = out.Call, append(to, out.To)
			}
			if slices.Sort(to); !slices.Equal(to, []string{"42", "43", "ana"}) {
				t.Errorf("%q heard of it", to)
			}
			w.settled()
			w.say("staff", answer(call))
			w.wantTold("42: Thank you, noted.", "ana: It says: paid")
			if n.Load() != 1 {
				t.Errorf("paid %d times", n.Load())
			}
		})
	}
}

// An answer from another chat than the one that was asked is answered once, however often it
// comes, also when the host is another by then.
func TestAnswerFromElsewhereThatComesAgain(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(call string) bus.Inbound{
		"with the id": func(call string) bus.Inbound {
			return bus.Inbound{ID: "same", From: "42", Text: "approve", Answers: call}
		},
		"in words": func(string) bus.Inbound { return bus.Inbound{ID: "same", From: "42", Text: "approve"} },
		"a stop":   func(string) bus.Inbound { return bus.Inbound{ID: "same", From: "42", Text: "/stop"} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			a := boss(&n, approvers("staff/42"), notifies)
			w := newWorld(t, a)
			w.say("ana", bus.Inbound{From: "ana", Text: "pay"})
			call := w.hear().Call
			w.hear()
			w.settled()
			again := answer(call)
			w.say("staff", again)
			w.hear() // what it has led to, and that it is noted
			w.hear()
			w.settled()
			w.say("staff", again)
			w.settled()
			w.stop()
			w.start(a)
			w.say("staff", again)
			w.settled()
			w.say("staff", bus.Inbound{ID: "next", From: "42", Text: "hello"})
			w.expect("reply", "You said: hello")
			w.settled()
			w.silent()
		})
	}
}

// Two approvals that are open in an approver's chat have numbers, also when they are of different
// persons. A person who may not answer is not asked to.
func TestNumbersInTheChatOfAnApprover(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	w := newWorld(t, boss(&n, approvers("staff/42"), notifies))
	w.say("ana", bus.Inbound{From: "ana", Text: "pay"})
	w.hear()
	w.hear()
	w.settled()
	w.say("ana", bus.Inbound{From: "bea", Text: "pay"})
	w.wantTold(
		"42: Ana wants to use pay with sum=5. Chat: ana/dm/bea. Reply approve 2 or deny 2.",
		"bea: Ana wants to use pay with sum=5. An approver has to allow this first.",
	)
	w.settled()
	w.say("staff", bus.Inbound{From: "42", Text: "deny 2"})
	w.wantTold("42: Thank you, noted.", "bea: It says: denied")
	w.settled()
	w.say("staff", bus.Inbound{From: "42", Text: "approve"})
	w.wantTold("42: Thank you, noted.", "ana: It says: paid")
}

// wantTold waits for what people are told next, in the order of want.
func (w *world) wantTold(want ...string) {
	w.t.Helper()
	told := []string{}
	for range want {
		out := w.hear()
		told = append(told, out.To+": "+out.Text)
	}
	if slices.Sort(told); !slices.Equal(told, want) {
		w.t.Errorf("told %q, want %q", told, want)
	}
}

// What waited in a session that was deleted waits no more: a word of an approver is a message
// again, and a later question is the only one.
func TestNothingWaitsInADeletedSession(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	w := newWorld(t, boss(&n, approvers("staff/42"), notifies))
	w.say("ana", bus.Inbound{From: "ana", Text: "pay"})
	asked := w.hear()
	w.hear() // the notice of it in the other chat
	w.settled()
	sid := session.SID("ana", session.DM("ana", "", "ana"))
	if _, err := session.NewArchive(w.bus.JS).Delete(t.Context(), "ana", sid, false); err != nil {
		t.Fatal(err)
	}
	w.eventually("the host hears of the deletion", func() bool {
		_, open := w.parts.Asks.Open.Session(asked.Call)
		return !open
	})
	w.say("staff", bus.Inbound{From: "42", Text: "yes"})
	w.expect("reply", "You said: yes")
	w.say("ana", bus.Inbound{From: "bea", Text: "pay"})
	w.wantTold(
		"42: Ana wants to use pay with sum=5. Chat: ana/dm/bea. Reply approve or deny.",
		"bea: Ana wants to use pay with sum=5. An approver has to allow this first.",
	)
}

// Of what a run of the clock asks approvers are told the address, and a group, where one of them may be,
// is asked.
func TestApprovalOfASchedule(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	w := newWorld(t, boss(&n, approvers("staff/42"), notifies))
	w.fire("daily", bus.Origin{Subject: "plugin.outbound.ana", To: "bea"})
	w.wantTold(
		"42: Ana wants to use pay with sum=5. Chat: ana/bea. Reply approve or deny.",
		"bea: Ana wants to use pay with sum=5. An approver has to allow this first.",
	)
	w.settled()
	w.fire("weekly", bus.Origin{Subject: "plugin.outbound.ana", Chat: "team"})
	w.wantTold(
		"42: Ana wants to use pay with sum=5. Chat: ana/team. Reply approve 2 or deny 2.",
		": Ana wants to use pay with sum=5. Reply approve 2 or deny 2.",
	)
	w.settled()
}
