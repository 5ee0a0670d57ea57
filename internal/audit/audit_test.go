package audit_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/audit"
	"agenthost/run"

	"github.com/nats-io/nats.go"
)

func TestMain(m *testing.M) { bustest.VerifyNoLeaks(m) }

// What a person has decided is in the log, and with what reach; what the clock or an agent has
// done, or what a chat has said to its own question, is not.
func TestOfCommit(t *testing.T) {
	t.Parallel()
	const log = "agent.session.ana.x"
	tests := map[string]struct {
		event run.Event
		want  string // the action, what of, and in detail; empty: it is not kept
	}{
		"approved":           {run.Event{Type: run.ApprovalAnswered, Door: bus.DoorCLI, Call: "c1", Name: "pay", Answer: run.Approve}, "approve c1 pay"},
		"approved for ever":  {run.Event{Type: run.ApprovalAnswered, Door: bus.DoorCLI, Call: "c1", Name: "pay", Answer: run.Approve, Scope: "always"}, "approve c1 pay, always"},
		"approved otherwise": {run.Event{Type: run.ApprovalAnswered, Door: bus.DoorAPI, Call: "c1", Name: "pay", Answer: run.Approve, Scope: "once", Args: json.RawMessage(`{"sum":1}`)}, "approve c1 pay, once, with other arguments"},
		"denied in a chat":   {run.Event{Type: run.ApprovalAnswered, Door: "plugin.inbound.web", Call: "c1", Name: "pay", Answer: run.Deny}, "deny c1 pay"},
		"too late":           {run.Event{Type: run.ApprovalAnswered, Door: bus.DoorDeadline, Call: "c1", Name: "pay", Answer: run.Deny}, ""},
		"by no door":         {run.Event{Type: run.ApprovalAnswered, Call: "c1", Name: "pay", Answer: run.Approve}, ""},
		"answered elsewhere": {run.Event{Type: run.QuestionAnswered, Door: bus.DoorAPI, Call: "c2", Answer: "red"}, "answer c2 red"},
		"answered in a chat": {run.Event{Type: run.QuestionAnswered, Door: "plugin.inbound.web", Call: "c2", Answer: "red"}, ""},
		"by the clock":       {run.Event{Type: run.QuestionAnswered, Door: bus.DoorDeadline, Call: "c2", Answer: "red"}, ""},
		"stopped":            {run.Event{Type: run.Finished, Door: bus.DoorNATS, Run: "r1", Outcome: run.OutcomeStopped}, "abort r1 "},
		"stopped by its own": {run.Event{Type: run.Finished, Door: bus.DoorAgent, Run: "r1", Outcome: run.OutcomeStopped}, ""},
		"ended by itself":    {run.Event{Type: run.Finished, Door: bus.DoorCLI, Run: "r1"}, ""},
		"something else":     {run.Event{Type: run.InputAdded, Door: bus.DoorCLI}, ""},
	}
	for name, tt := range tests {
		tt.event.By = "ann"
		list := audit.OfCommit("h1", log, "web/dm/ann", "r1", 7, []run.Event{{Type: run.InputAdded}, tt.event})
		if tt.want == "" {
			if len(list) != 0 {
				t.Errorf("%s: kept is %+v", name, list)
			}
			continue
		}
		if len(list) != 1 {
			t.Errorf("%s: kept are %+v", name, list)
			continue
		}
		e := list[0]
		if got := e.Action + " " + e.Target + " " + e.Detail; got != tt.want {
			t.Errorf("%s: kept is %q, want %q", name, got, tt.want)
		}
		if e.By != "ann" || e.Door != tt.event.Door || e.Agent != "ana" || e.Session != "web/dm/ann" || e.Host != "h1" || e.ID != log+":7:1" {
			t.Errorf("%s: kept is %+v", name, e)
		}
	}
}

// An entry is kept once, on the subject of its action, and is read as it was written. What a
// stream has besides is passed over.
func TestLog(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	l := audit.NewLog(b.JS)
	read := func() (actions []string, err error) {
		for e, err := range l.Since(t.Context(), time.Now().Add(-time.Hour)) {
			if err != nil {
				return nil, err
			}
			actions = append(actions, e.Action+" "+e.Detail)
		}
		return actions, nil
	}
	if _, err := read(); err == nil || !strings.Contains(err.Error(), audit.ErrNone.Error()) {
		t.Errorf("without the stream: got %v", err)
	}
	if err := l.Write(t.Context(), audit.Entry{Action: "reload"}); err == nil {
		t.Error("what is not stored is said to be")
	}
	bustest.Provision(t, b.JS)
	for range 2 {
		if err := l.Write(t.Context(), audit.Entry{Action: "approve", Detail: strings.Repeat("ä", 501), ID: "one"}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := l.Write(t.Context(), audit.Entry{Action: "Re.load", Detail: strings.Repeat("ä", 500)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, data := range []string{"no entry", "{}"} {
		if _, err := b.JS.PublishMsg(t.Context(), &nats.Msg{Subject: bus.AuditPrefix + "x", Data: []byte(data)}); err != nil {
			t.Fatal(err)
		}
	}
	whole := strings.Repeat("ä", 500)
	got, err := read()
	if want := []string{"approve " + whole + "…", "Re.load " + whole, "Re.load " + whole}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v", got, err)
	}
	msg, err := audit.Entry{Action: "Re.load"}.Message()
	if err != nil || msg.Subject != bus.AuditPrefix+"_e_load" {
		t.Errorf("it is on %s, %v", msg.Subject, err)
	}
}
