package engine_test

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
)

// letting says who may write to the agent on the channel staff.
func letting(s agents.Senders) func(*actor) {
	return func(a *actor) {
		a.cfg.Channels = append(a.cfg.Channels, agents.Binding{Channel: "staff", Senders: s})
	}
}

// payerFor pays once an approver on the channel staff approves.
func payerFor(n *atomic.Int64, more ...func(*actor)) actor {
	return bot("ana", append([]func(*actor){script(paying), has(counter(n)), approvers("staff/42"), notifies}, more...)...)
}

// An approver is named by the operator: what they say to an approval counts though the senders of
// their channel let them write nothing else.
func TestApproverWhoMayNotWrite(t *testing.T) {
	t.Parallel()
	const thanks = "42: Thank you, noted."
	some := agents.Senders{Allow: []string{"7"}}
	tests := map[string]struct {
		senders agents.Senders
		say     bus.Inbound
		named   bool
		want    []string // what is told next; empty: it is not an approver's
		effects int64
	}{
		"with the id":             {some, bus.Inbound{From: "42", Text: "approve"}, true, []string{thanks, "ana: It says: paid"}, 1},
		"in words":                {some, bus.Inbound{From: "42", Text: "Yes."}, false, []string{thanks, "ana: It says: paid"}, 1},
		"denies":                  {some, bus.Inbound{From: "42", Text: "deny"}, true, []string{thanks, "ana: It says: denied"}, 0},
		"in a group, with the id": {some, bus.Inbound{From: "42", Text: "approve", Group: true, Chat: "g"}, true, []string{thanks, "ana: It says: paid"}, 1},
		"by pairing":              {agents.Senders{Pairing: true}, bus.Inbound{From: "42", Text: "approve"}, true, []string{thanks, "ana: It says: paid"}, 1},
		"something else":          {some, bus.Inbound{From: "42", Text: "hello"}, false, nil, 0},
		"no answer to it": {
			some,
			bus.Inbound{From: "42", Text: "perhaps"},
			true,
			[]string{"42: This doesn't answer the question, which is still open. Please reply approve or deny."},
			0,
		},
		"in a group, in words": {some, bus.Inbound{From: "42", Text: "approve", Group: true, Chat: "g"}, false, nil, 0},
		"another stranger":     {some, bus.Inbound{From: "43", Text: "approve"}, true, nil, 0},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var n atomic.Int64
			w := newWorld(t, payerFor(&n, letting(tt.senders)))
			w.say("ana", bus.Inbound{From: "ana", Text: "pay"})
			call := w.hear().Call
			w.hear() // the approver's
			w.settled()
			if tt.named {
				tt.say.Answers = call
			}
			w.say("staff", tt.say)
			if tt.want == nil {
				if out := w.hear(); out.Kind != bus.KindNotice || out.To != tt.say.From || !strings.Contains(out.Text, "whom my operators have let in") {
					t.Errorf("heard %+v", out)
				}
			} else {
				w.wantTold(tt.want...)
			}
			w.settled()
			w.silent()
			if n.Load() != tt.effects {
				t.Errorf("paid %d times, want %d", n.Load(), tt.effects)
			}
		})
	}
}

// What such an approver says comes again, and counts once.
func TestApproverWhoMayNotWriteSaysItAgain(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	w := newWorld(t, payerFor(&n, letting(agents.Senders{Allow: []string{"7"}})))
	w.say("ana", bus.Inbound{From: "ana", Text: "pay"})
	call := w.hear().Call
	w.hear()
	w.settled()
	w.say("staff", bus.Inbound{ID: "1", From: "42", Text: "approve", Answers: call})
	w.wantTold("42: Thank you, noted.", "ana: It says: paid")
	w.settled()
	w.say("staff", bus.Inbound{ID: "2", From: "42", Text: "approve", Answers: call})
	if out := w.hear(); out.To != "42" || strings.Contains(out.Text, "noted") {
		t.Errorf("heard %+v", out)
	}
	w.settled()
	w.silent()
	if n.Load() != 1 {
		t.Errorf("paid %d times", n.Load())
	}
}

// Whom the senders of a binding deny hears nothing of an approval, and does not answer one.
func TestApproverWhoIsDenied(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	ana := payerFor(&n, letting(agents.Senders{Deny: []string{"42"}}), approvers("staff/42", "staff/43"))
	w := newWorld(t, ana)
	w.say("ana", bus.Inbound{From: "ana", Text: "pay"})
	call, asked := "", []string{}
	for range 2 {
		out := w.hear()
		call, asked = out.Call, append(asked, out.To)
	}
	w.settled()
	w.silent()
	if slices.Sort(asked); !slices.Equal(asked, []string{"43", "ana"}) {
		t.Errorf("%q are asked", asked)
	}
	w.say("staff", bus.Inbound{From: "42", Text: "approve", Answers: call})
	w.settled()
	w.silent()
	if n.Load() != 0 {
		t.Error("it counts")
	}
	w.say("staff", bus.Inbound{From: "43", Text: "approve", Answers: call})
	w.wantTold("43: Thank you, noted.", "ana: It says: paid")
}

// After the deadline the word of such an approver does not count either.
func TestApproverWhoMayNotWriteIsTooLate(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	ana := payerFor(&n, letting(agents.Senders{Allow: []string{"7"}}))
	ana.cfg.Limits.ApprovalTimeout = time.Second
	w := newWorld(t, ana)
	w.say("ana", bus.Inbound{From: "ana", Text: "pay"})
	w.hear()
	w.hear()
	one := w.overdue()
	w.say("staff", bus.Inbound{From: "42", Text: "approve", Answers: one.ID})
	w.wantTold("42: No answer came in time, so this was not done: Ana wants to use pay with sum=5.")
	w.settled()
	if n.Load() != 0 {
		t.Error("it counts")
	}
}

// overdue has the deadline of what waits pass without a word of the server: it is lost.
func (w *world) overdue() agents.Waiting {
	w.t.Helper()
	one := w.waiting()
	w.settled()
	schedules, err := w.bus.JS.Stream(w.t.Context(), bus.SchedulesStream)
	if err == nil {
		err = schedules.Purge(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.eventually("the deadline has passed", func() bool { return time.Now().After(one.Deadline.Add(time.Second)) })
	return one
}
