package inflight

import (
	"context"
	"encoding/json"
	"testing"

	"agenthost/agents"
	"agenthost/agents/internal/parts"
	"agenthost/bus"
	"agenthost/hooks"
	"agenthost/run"

	"github.com/rs/zerolog"
)

func hooked(t *testing.T, out hooks.Outcome, fired *int) *Agent {
	t.Helper()
	registry := hooks.New(zerolog.Nop())
	_, err := registry.Add(hooks.BeforeMessage, 0, "test", func(context.Context, hooks.Call) (hooks.Outcome, error) {
		*fired++
		return out, nil
	}, hooks.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return agentOf(agents.Config{}, parts.Options{Hooks: registry})
}

// What a hook changes of a message takes its place, and who sent it stays.
func TestScreenAll(t *testing.T) {
	t.Parallel()
	override := hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": json.RawMessage(`{"from":"eve","text":"[hidden]"}`)}}
	tests := map[string]struct {
		out     hooks.Outcome
		refused string
		text    string
	}{
		"lets it be": {text: "hi"},
		"overrides":  {out: override, text: "[hidden]"},
		"refuses":    {out: hooks.Outcome{Action: hooks.Abort, Reason: "no"}, refused: "no", text: "[a message was held back: no]"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			fired := 0
			r := answering(hooked(t, tt.out, &fired), person())
			if got := r.ScreenAll(t.Context()); got != tt.refused {
				t.Errorf("refused: %q, want %q", got, tt.refused)
			}
			var kept bus.Inbound
			if err := json.Unmarshal(r.Inputs[0].Envelope, &kept); err != nil || kept.Text != tt.text || kept.From != "ann" {
				t.Errorf("kept: %+v, %v", kept, err)
			}
			if r.ScreenAll(t.Context()); fired != 1 {
				t.Errorf("the hook saw it %d times", fired)
			}
		})
	}
}

// A hook sees an answer in a person's own words, and not a choice among options.
func TestScreenAnswer(t *testing.T) {
	t.Parallel()
	fired := 0
	a := hooked(t, hooks.Outcome{Action: hooks.Override, Args: hooks.Args{"message": json.RawMessage(`{"text":" [hidden] "}`)}}, &fired)
	for name, tt := range map[string]struct {
		call run.Call
		want string
	}{
		"own words": {run.Call{ID: "c", Asked: run.ForQuestion}, "[hidden]"},
		"an option": {run.Call{ID: "c", Asked: run.ForQuestion, Options: []string{"hi"}}, "hi"},
		"approval":  {run.Call{ID: "c", Asked: run.ForApproval}, "hi"},
	} {
		sig := run.Signal{Kind: run.Answered, Call: "c", Answer: "hi"}
		if refused := (Session{Agent: a, Key: "web/dm/ann"}).ScreenAnswer(t.Context(), person(), &run.Run{ID: "r1", Calls: []run.Call{tt.call}}, &sig); refused != "" || sig.Answer != tt.want {
			t.Errorf("%s: got %q, %q", name, sig.Answer, refused)
		}
	}
	if fired != 1 {
		t.Errorf("the hook saw %d answers", fired)
	}
}
