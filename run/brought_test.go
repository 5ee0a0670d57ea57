package run_test

import (
	"testing"

	"agenthost/run"
)

// What brought an answer, a result or an order to stop is in the log, so that
// it does nothing when it comes again.
func TestEventsNameWhatBroughtThem(t *testing.T) {
	failed := done("a")
	failed.OK, failed.Source = false, run.FromDelegate
	tests := map[string]struct {
		wait string
		sig  run.Signal
		in   run.EventType
	}{
		"approval":      {run.ForApproval, answered("a", run.Approve), run.ApprovalAnswered},
		"denial":        {run.ForApproval, answered("a", run.Deny), run.ApprovalAnswered},
		"question":      {run.ForQuestion, answered("a", "red"), run.QuestionAnswered},
		"delegate":      {run.ForDelegate, answered("a", "it is done"), run.ToolFinished},
		"failed":        {run.ForDelegate, failed, run.ToolFinished},
		"order to stop": {run.ForQuestion, run.Signal{Kind: run.Abort, By: "ana"}, run.Finished},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := open(t, run.Limits{})
			s.send(ask("r1", "hello"))
			s.send(use("a"))
			s.send(waits("a", tt.wait))
			tt.sig.Input = &run.Input{ID: "yes"}
			s.send(tt.sig)
			var named []run.EventType
			for _, e := range s.log {
				if e.Input != nil && e.Input.ID == "yes" {
					named = append(named, e.Type)
				}
			}
			if len(named) != 1 || named[0] != tt.in {
				t.Errorf("got it in %q, want in %q", named, tt.in)
			}
		})
	}
}
