package eval_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/agents"
	"agenthost/config"
	"agenthost/internal/eval"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"
)

// twoCalls is a run that looks something up, and one that answers at once.
func twoCalls() []session.Fact {
	message := func(role llm.Role, parts ...llm.Part) *llm.Message { return &llm.Message{Role: role, Parts: parts} }
	text := func(s string) llm.Part { return llm.Part{Type: llm.Text, Text: s} }
	usage := func(n int64) *llm.Usage { return &llm.Usage{Input: n, Output: 1} }
	args := json.RawMessage(`{"order":"A-1"}`)
	commits := [][]run.Event{
		{
			{Type: run.Started, Run: "r1", Trigger: run.ByMessage, Inputs: []run.Input{{ID: "m1"}}},
			{Type: run.MessageAdded, Message: message(llm.User, text("where is it?"))},
			{Type: run.ModelCalled, Entry: "old", Usage: usage(10)},
			{Type: run.MessageAdded, Message: message(llm.Assistant, llm.Part{Type: llm.ToolCall, Call: "c1", Name: "look", Args: args})},
			{Type: run.ToolRequested, Call: "c1", Name: "look", Args: args},
		},
		{{Type: run.ToolFinished, Call: "c1", Name: "look", OK: true, Result: "in Lyon", Source: run.FromTool}},
		{
			{Type: run.ModelCalled, Entry: "old", Usage: usage(20)},
			{Type: run.MessageAdded, Message: message(llm.Assistant, text("It is in Lyon."))},
			{Type: run.Replied, Reply: &run.Reply{N: 1, Kind: run.KindReply, Final: true}},
			{Type: run.Finished, Run: "r1", Outcome: run.OutcomeSettled},
		},
		{
			{Type: run.Started, Run: "r2", Trigger: run.ByMessage, Inputs: []run.Input{{ID: "m2"}}},
			{Type: run.MessageAdded, Message: message(llm.User, text("thanks"))},
			{Type: run.ModelCalled, Entry: "old", Usage: usage(30)},
			{Type: run.MessageAdded, Message: message(llm.Assistant, text("Bye."))},
			{Type: run.Finished, Run: "r2", Outcome: run.OutcomeSettled},
		},
	}
	var facts []session.Fact
	for i, c := range commits {
		for n, e := range c {
			facts = append(facts, session.Fact{Seq: uint64(10 + i), N: n + 1, Event: e})
		}
	}
	return facts
}

// A rerun behind a place keeps what was recorded up to there.
func TestRerunBehindAPlace(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "script.yaml")
	script := `
rules:
  - {when: where, tool_calls: [{name: look, args: {order: A-1}}]}
  - {after_tool: look, text: "Now: ${result}"}
  - {text: "You said: ${text}"}
`
	if err := os.WriteFile(path, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := &config.Config{
		Models: map[string]llm.Config{"new": {Provider: "scripted", Script: path}},
		Agents: []config.Agent{{Config: agents.Config{ID: "ana", Model: []string{"new"}}}},
	}
	call := `look {"order":"A-1"}`
	tests := map[string]struct {
		at   string
		want []string // run, what came behind the place then, and now
	}{
		"all runs":                       {"", []string{"r1 [" + call + "] It is in Lyon. 30 | [" + call + "] Now: in Lyon", "r2 [] Bye. 30 | [] You said: thanks"}},
		"behind the message":             {"10.2", []string{"r1 [" + call + "] It is in Lyon. 30 | [" + call + "] Now: in Lyon"}},
		"at the first call":              {"10.3", []string{"r1 [" + call + "] It is in Lyon. 30 | [" + call + "] Now: in Lyon"}},
		"behind the model's first words": {"10.4", []string{"r1 [] It is in Lyon. 20 | [] Now: in Lyon"}},
		"between a call and its result":  {"10", []string{"r1 [] It is in Lyon. 20 | [] Now: in Lyon"}},
		"behind the result":              {"11.1", []string{"r1 [] It is in Lyon. 20 | [] Now: in Lyon"}},
		"at the second call":             {"12.1", []string{"r1 [] It is in Lyon. 20 | [] Now: in Lyon"}},
		"behind a run":                   {"12", []string{"r2 [] Bye. 30 | [] You said: thanks"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			err := eval.Rerun{Agent: "ana", Model: "new", At: tt.at}.Of(t.Context(), cfg, twoCalls(), func(c eval.Comparison) error {
				if c.At != tt.at {
					t.Errorf("at %q", c.At)
				}
				got = append(got, fmt.Sprint(c.Run, " ", c.Then.Calls, " ", c.Then.Text, " ", c.Then.Input, " | ", c.Now.Calls, " ", c.Now.Text, c.Now.Error))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for at, want := range map[string]string{
		"13.4": "no model was asked behind 13.4",
		"99":   "the log has no place 99; take seq and n from the export of the session",
		"x":    `"x" is no place in a log; want SEQ, or SEQ.N for the event N of that commit`,
	} {
		err := eval.Rerun{Agent: "ana", At: at}.Of(t.Context(), cfg, twoCalls(), func(eval.Comparison) error { return nil })
		if err == nil || err.Error() != want {
			t.Errorf("at %s: got %v", at, err)
		}
	}
}

// A model that is asked again is given no address that a run does not give it either: a server
// on this machine would open its own files.
func TestRerunGivesNoAddressOfThisMachine(t *testing.T) {
	t.Parallel()
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		asked = string(data)
		w.WriteHeader(http.StatusBadRequest) // it has heard enough
	}))
	defer server.Close()
	cfg := &config.Config{
		Models: map[string]llm.Config{"new": {Provider: "openai", Model: "x", BaseURL: server.URL}},
		Agents: []config.Agent{{Config: agents.Config{ID: "ana", Model: []string{"new"}}}},
	}
	facts := twoCalls()
	said := facts[1].Event.Message
	for _, address := range []string{"file:///etc/passwd", "https://example.org/a.png"} {
		said.Parts = append(said.Parts, llm.Part{Type: llm.MediaPart, Media: &llm.Media{Kind: "image", Name: "a.png", URL: address}})
	}
	if err := (eval.Rerun{Agent: "ana", Run: "r1"}).Of(t.Context(), cfg, facts, func(eval.Comparison) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(asked, "passwd") || !strings.Contains(asked, `"https://example.org/a.png"`) || !strings.Contains(asked, "attached image") {
		t.Errorf("asked %s", asked)
	}
	if said.Parts[1].Media.URL != "file:///etc/passwd" {
		t.Error("the recorded message was changed")
	}
}

func TestHookLines(t *testing.T) {
	t.Parallel()
	act := run.HookAct{Point: "before_tool_call", Hook: "acme.audit"}
	line := func(change func(*run.HookAct)) (list []string) {
		a := act
		change(&a)
		for _, l := range eval.Lines(run.Event{Type: run.ToolFinished, Name: "pay", OK: true, Result: "paid", Hooks: []run.HookAct{a}}) {
			list = append(list, l.Text)
		}
		return list
	}
	tests := map[string]struct {
		got, want []string
	}{
		"override": {
			line(func(a *run.HookAct) { a.Action, a.Args = run.HookOverrode, []string{"args"} }),
			[]string{"hook acme.audit at before_tool_call: changed args", "pay → paid"},
		},
		"abort": {
			line(func(a *run.HookAct) { a.Action, a.Reason = run.HookAborted, "Not here." }),
			[]string{"hook acme.audit at before_tool_call: stopped this: Not here.", "pay → paid"},
		},
		"failed, behind": {
			line(func(a *run.HookAct) { a.Action, a.Point, a.Error = run.HookFailed, "after_tool_call", "away" }),
			[]string{"pay → paid", "hook acme.audit at after_tool_call: failed: away"},
		},
		"failed closed": {
			line(func(a *run.HookAct) { a.Action, a.Error = run.HookAborted, "away" }),
			[]string{"hook acme.audit at before_tool_call: failed, and stopped this as it fails closed: away", "pay → paid"},
		},
	}
	for name, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	waited := run.Event{Type: run.Started, Run: "r", Inputs: []run.Input{{Checked: true, Hooks: []run.HookAct{act}}}}
	if got := len(eval.Lines(waited)); got != 1 {
		t.Errorf("of an input that waited: %d lines, want that of the start alone", got)
	}
}
