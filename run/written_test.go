package run_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"agenthost/run"

	"github.com/google/go-cmp/cmp"
)

func inboundInput(id, text string) run.Input {
	envelope, _ := json.Marshal(map[string]string{"text": text, "from": "ana"})
	return run.Input{ID: id, Subject: "plugin.inbound.web", Envelope: envelope}
}

func started(in ...run.Input) run.State {
	return run.Fold(run.State{}, run.Event{Type: run.Started, Run: "r1", Inputs: in})
}

func TestWhatAPersonHasWritten(t *testing.T) {
	tests := map[string]struct {
		text    string
		address string
		want    bool
	}{
		"as it is":                      {"look at https://a.test/x?y=1", "https://a.test/x?y=1", true},
		"at the end of a sentence":      {"See https://a.test/x.", "https://a.test/x", true},
		"in brackets":                   {"(https://a.test/x), now", "https://a.test/x", true},
		"with brackets":                 {"https://a.test/x_(y)", "https://a.test/x_(y)", true},
		"as a link":                     {"[it](https://a.test/x) <https://a.test/y|why>", "https://a.test/y", true},
		"in capitals":                   {"HTTPS://A.Test/x", "https://a.test/x", true},
		"with its port":                 {"https://a.test/x", "https://a.test:443/x", true},
		"without a path":                {"https://a.test", "https://a.test/", true},
		"with a fragment":               {"https://a.test/x#part", "https://a.test/x#secret", true},
		"another path":                  {"https://a.test/x", "https://a.test/x/y", false},
		"another query":                 {"https://a.test/x", "https://a.test/x?secret", false},
		"an empty query":                {"https://a.test/x", "https://a.test/x?", false},
		"another spelling of the path":  {"https://a.test/x", "https://a.test/%78", false},
		"another order of the query":    {"https://a.test/?a=1&b=2", "https://a.test/?b=2&a=1", false},
		"another case of the path":      {"https://a.test/x", "https://a.test/X", false},
		"another scheme":                {"https://a.test/x", "http://a.test/x", false},
		"another port":                  {"https://a.test/x", "https://a.test:8443/x", false},
		"a host below":                  {"https://a.test/", "https://secret.a.test/", false},
		"a user":                        {"https://a.test/x", "https://secret@a.test/x", false},
		"a user that is a host":         {"https://a.test/x", "https://a.test@b.test/x", false},
		"a written user":                {"https://me:pw@a.test/x", "https://me:pw@a.test/x", false},
		"a backslash":                   {"https://a.test/x", `https://a.test\@b.test/x`, false},
		"a letter that becomes another": {"https://k.test/x", "https://\u212A.test/x", false},
		"a host alone":                  {"look at a.test", "https://a.test/", false},
		"no address":                    {"https://", "https://", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := started(inboundInput("m", tt.text)).HasWritten(tt.address); got != tt.want {
				t.Errorf("after %q %q counts as written: %v, want %v", tt.text, tt.address, got, tt.want)
			}
		})
	}
}

func TestOnlyPersonsWriteAddresses(t *testing.T) {
	const address = "https://a.test/x"
	routed := inboundInput("m", "read "+address)
	routed.Subject = "agent.route.ana"
	asked := func(options []string, subject string) run.State {
		s := started(inboundInput("m", "hi"))
		for _, e := range []run.Event{
			{Type: run.ToolRequested, Call: "c", Name: "ask_human"},
			{Type: run.QuestionAsked, Call: "c", Options: options},
			{Type: run.QuestionAnswered, Call: "c", Answer: address, Input: &run.Input{ID: "a", Subject: subject}},
		} {
			s = run.Fold(s, e)
		}
		return s
	}
	joined := inboundInput("n", "then "+address)
	slashed := run.Input{ID: "m", Subject: "plugin.inbound.web", Envelope: []byte(`{"text":"https:\/\/a.test\/x"}`)}
	meta := run.Input{ID: "m", Subject: "plugin.inbound.web", Envelope: []byte(`{"text":"hi","meta":{"text":"` + address + `"}}`)}
	tests := map[string]struct {
		state run.State
		want  bool
	}{
		"a person":                   {started(inboundInput("m", address)), true},
		"in escapes":                 {started(slashed), true},
		"what waits":                 {run.Fold(run.State{}, run.Event{Type: run.InputAdded, Input: &joined}), true},
		"what joins a run":           {run.Fold(started(inboundInput("m", "hi")), run.Event{Type: run.InputAdded, Run: "r1", Input: &joined}), true},
		"an answer":                  {asked(nil, "plugin.inbound.web"), true},
		"an answer of the model":     {asked([]string{address, "no"}, "plugin.inbound.web"), false},
		"an answer by another door":  {asked(nil, "agent.route.ana"), false},
		"another agent":              {started(routed), false},
		"beside the text":            {started(meta), false},
		"a session that has no such": {started(inboundInput("m", "hi")), false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := tt.state.HasWritten(address); got != tt.want {
				t.Errorf("it counts as written: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestWrittenAddressesSurviveASnapshotAndAreBounded(t *testing.T) {
	s := run.State{}
	for i := range 150 {
		in := inboundInput(fmt.Sprint(i), fmt.Sprintf("https://a.test/%d and https://a.test/%d", i, i))
		s = run.Fold(s, run.Event{Type: run.Started, Run: fmt.Sprint("r", i), Inputs: []run.Input{in}})
	}
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	again := run.State{}
	if err := json.Unmarshal(data, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(s.Written, again.Written); diff != "" {
		t.Errorf("written (-before +after):\n%s", diff)
	}
	if len(again.Written) != 100 || again.HasWritten("https://a.test/49") || !again.HasWritten("https://a.test/50") || !again.HasWritten("https://a.test/149") {
		t.Errorf("got %d addresses, want the newest 100", len(again.Written))
	}
}
