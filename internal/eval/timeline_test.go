package eval_test

import (
	"testing"

	"agenthost/internal/eval"
	"agenthost/run"
)

func TestRefusedLine(t *testing.T) {
	said := &run.Reply{Envelope: []byte(`{"text":"Too many messages."}`)}
	tests := map[string]struct {
		event run.Event
		want  string
	}{
		"refused":         {run.Event{Input: &run.Input{ID: "m\n1"}, Reply: said}, "refused message m 1: Too many messages."},
		"without input":   {run.Event{Reply: said}, "input.refused"},
		"without a reply": {run.Event{Input: &run.Input{ID: "m1"}}, "input.refused"},
	}
	for name, tt := range tests {
		tt.event.Type = run.InputRefused
		if got := eval.Line(tt.event); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

func TestTakenLine(t *testing.T) {
	tests := map[string]struct {
		event run.Event
		want  string
	}{
		"taken":         {run.Event{Input: &run.Input{ID: "m\n1"}, By: "ana"}, "answered a tool: message m 1 by ana"},
		"without input": {run.Event{By: "ana"}, "input.taken"},
	}
	for name, tt := range tests {
		tt.event.Type = run.InputTaken
		if got := eval.Line(tt.event); got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
