package message_test

import (
	"encoding/json"
	"errors"
	"testing"

	"agenthost/agents/internal/message"
	"agenthost/bus"
)

// A hook that leaves nothing of a message says so; of what had nothing to say it may leave
// that.
func TestOverriddenByNothing(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		origin message.Origin
		left   string
		want   error
	}{
		"a message":   {message.Origin{Inbound: &bus.Inbound{Text: "hello"}}, `{"text":" "}`, message.ErrEmptied},
		"an answer":   {message.Origin{Inbound: &bus.Inbound{Text: "red", Answers: "c1"}}, `{"text":"","answers":"c1"}`, message.ErrEmptied},
		"a picture":   {message.Origin{Inbound: &bus.Inbound{Media: []bus.Media{{Kind: "image", URL: "https://example.org/a.png"}}}}, `{}`, message.ErrEmptied},
		"a task":      {message.Origin{Route: &bus.Route{Kind: bus.RouteDelegate, Text: "go"}}, `{"text":""}`, message.ErrEmptied},
		"no answer":   {message.Origin{Inbound: &bus.Inbound{Answers: "c1"}}, `{"text":""}`, nil},
		"withdrawing": {message.Origin{Inbound: &bus.Inbound{Withdraws: "m1"}}, `{"text":""}`, nil},
		"another":     {message.Origin{Inbound: &bus.Inbound{Text: "hello"}}, `{"text":"hi"}`, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := tt.origin.Overridden(json.RawMessage(tt.left)); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}
