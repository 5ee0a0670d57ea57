package toolcall

import (
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/run"
)

// An answer is what it says, unless the permissions have come to deny what it approves, or who
// has asked for the task waits no longer.
func TestEffective(t *testing.T) {
	t.Parallel()
	pay := run.Call{ID: "c1", Wait: "t1", Name: "pay", Asked: run.ForApproval, Prompt: "Ana wants to pay."}
	approve := run.Signal{Kind: run.Answered, Call: "c1", Answer: run.Approve}
	tests := map[string]struct {
		verdict string // of the permissions by now
		over    bool   // the time of the task
		sig     run.Signal
		want    string // the answer
		notice  bool
		without bool // it has no effect
	}{
		"approves":            {verdict: "ask", sig: approve, want: run.Approve},
		"denied since":        {verdict: "deny", sig: approve, want: run.Approve, notice: true, without: true},
		"denies":              {verdict: "deny", sig: run.Signal{Kind: run.Answered, Call: "c1", Answer: run.Deny}, want: run.Deny},
		"in overtime":         {verdict: "ask", over: true, sig: approve, want: run.Deny, notice: true, without: true},
		"of nothing":          {verdict: "ask", over: true, sig: run.Signal{Kind: run.Answered, Call: "c2", Answer: "yes"}, want: "yes"},
		"an order to stop it": {verdict: "ask", over: true, sig: run.Signal{Kind: run.Abort}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := caller(t, agents.Config{}, map[string]string{"pay": tt.verdict}, tool("pay", says("paid")))
			if tt.over {
				task := &bus.Route{Kind: bus.RouteDelegate, From: "ben", Deadline: time.Now().Add(-time.Minute)}
				c.Prepare([]*message.Item{{Input: run.Input{ID: "d1"}, Origin: message.Origin{Subject: "agent.route.ana", Route: task}}})
			}
			sig, without := c.Effective(&run.Run{ID: "r1", Calls: []run.Call{pay}}, tt.sig)
			if sig.Answer != tt.want || (sig.Notice != "") != tt.notice || (without != nil) != tt.without {
				t.Errorf("it comes to %q with the notice %q, without effect: %v", sig.Answer, sig.Notice, without)
			}
		})
	}
}
