package intake

import (
	"slices"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/agents/internal/ask"
	"agenthost/agents/internal/message"
	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"

	"github.com/nats-io/nats.go"
)

// A deadline waits for what was stored in time and may be the answer, and for nothing else.
func TestMayAnswer(t *testing.T) {
	t.Parallel()
	deadline := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := ask.Waiting{
		ID: "ana.sid.token", Call: "call", Agent: "ana", Session: "web/dm/eve", Kind: run.ForApproval, Approvers: []string{"tel/bo"}, Deadline: deadline,
		Origin: &bus.Origin{Subject: "plugin.outbound.irc", Session: "irc/group/1", To: "eve", Chat: "9"},
	}
	result := `{"kind":"result","correlation_id":"ana.sid.token","from":"ben","text":"done"}`
	for name, tt := range map[string]struct {
		subject, data string
		late          bool
		want          bool
	}{
		"in its session":                 {subject: "plugin.inbound.web", data: `{"from":"eve","text":"yes"}`, want: true},
		"too late":                       {subject: "plugin.inbound.web", data: `{"from":"eve","text":"yes"}`, late: true},
		"an edit":                        {subject: "plugin.inbound.web", data: `{"from":"eve","text":"yes","edits":"m1"}`},
		"of another person":              {subject: "plugin.inbound.web", data: `{"from":"zoe","text":"yes"}`},
		"of an approver":                 {subject: "plugin.inbound.tel", data: `{"from":"bo","text":"yes"}`, want: true},
		"of their name on another place": {subject: "plugin.inbound.web", data: `{"from":"bo","text":"yes"}`},
		"in the session that was asked":  {subject: "plugin.inbound.irc", data: `{"from":"zoe","group":true,"chat":"1","text":"yes"}`, want: true},
		"in the chat that was asked":     {subject: "plugin.inbound.irc", data: `{"from":"eve","chat":"9","text":"yes"}`, want: true},
		"in another chat there":          {subject: "plugin.inbound.irc", data: `{"from":"eve","chat":"8","text":"yes"}`},
		"in another group there":         {subject: "plugin.inbound.irc", data: `{"from":"zoe","group":true,"chat":"2","text":"yes"}`},
		"by its id":                      {subject: "plugin.inbound.web", data: `{"from":"zoe","answers":"ana.sid.token","text":"yes"}`, want: true},
		"by its call":                    {subject: "plugin.inbound.web", data: `{"from":"zoe","answers":"call","text":"yes"}`, want: true},
		"to another question":            {subject: "plugin.inbound.web", data: `{"from":"eve","answers":"other","text":"yes"}`},
		"no message":                     {subject: "plugin.inbound.web", data: `garbage`},
		"a result in a partition":        {subject: bus.PartSubject("ana", 0), data: result, want: true},
		"a result that is late":          {subject: bus.PartSubject("ana", 0), data: result, late: true},
		"of another call":                {subject: bus.PartSubject("ana", 0), data: `{"kind":"result","correlation_id":"ana.sid.other","from":"ben"}`},
		"a task":                         {subject: bus.PartSubject("ana", 0), data: `{"kind":"delegate","correlation_id":"ana.sid.token","from":"ben","text":"x"}`},
		"the deadline":                   {subject: bus.PartSubject("ana", 0), data: `{"kind":"result","correlation_id":"ana.sid.token","from":"` + ask.FromDeadline + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := records.Record{Subject: tt.subject, Data: []byte(tt.data), Time: deadline.Add(-time.Second), Header: nats.Header{}}
			if tt.late {
				rec.Time = deadline.Add(time.Hour)
			}
			if got := intakeOf(agents.Config{}).mayAnswer(rec, w); got != tt.want {
				t.Errorf("got %t, want %t", got, tt.want)
			}
		})
	}
}

// People are looked for where they may answer.
func TestAnswerSubjects(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		w    ask.Waiting
		want []string
	}{
		"a task": {ask.Waiting{Kind: run.ForDelegate, Session: "web/dm/eve"}, nil},
		"a question": {
			ask.Waiting{Kind: run.ForQuestion, Session: "web/dm/eve", Origin: &bus.Origin{Subject: "plugin.outbound.irc", Session: "tel/dm/eve"}},
			[]string{"plugin.inbound.irc", "plugin.inbound.tel", "plugin.inbound.web"},
		},
		"an approval": {
			ask.Waiting{Kind: run.ForApproval, Session: "web/dm/eve", Approvers: []string{"tel.a/bo", "web/bo"}},
			[]string{"plugin.inbound.tel.a", "plugin.inbound.web"},
		},
	} {
		if got := intakeOf(agents.Config{}).answerSubjects(tt.w); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// A canary says for how long an answer is of use, and no longer than its sender can wait.
func TestWorthOfACanary(t *testing.T) {
	t.Parallel()
	for said, want := range map[any]time.Duration{"10s": 10 * time.Second, "2h": canaryAge, "soon": canaryAge, 7: canaryAge, nil: canaryAge} {
		if got := worth(&bus.Inbound{Meta: map[string]any{bus.CanaryWithin: said}}); got != want {
			t.Errorf("%v: got %s, want %s", said, got, want)
		}
	}
}

// Who waits for their turn is told so, unless the stream has forgotten that they were.
func TestHeardOfWait(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		tried bool
		ago   time.Duration
		want  bool
	}{
		"it comes first":           {false, time.Hour, false},
		"it comes again soon":      {true, 0, false},
		"it comes again very late": {true, bus.DedupeWindow, true},
	} {
		it := &message.Item{Tried: tt.tried, Stored: time.Now().Add(-tt.ago)}
		if got := heardOfWait(it); got != tt.want {
			t.Errorf("%s: got %t, want %t", name, got, tt.want)
		}
	}
}
