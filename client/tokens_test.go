package client_test

import (
	"testing"

	"agenthost/bus/bustest"
	"agenthost/client"

	"github.com/nats-io/nats.go"
)

// A host that hangs does not say which names its configuration has, and keeps no token from
// being made.
func TestTokenBesideAHostThatHangs(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b := bustest.Open(t)
		bustest.Provision(t, b.JS)
		if _, err := b.NC.Subscribe(client.TokensSubject, func(*nats.Msg) {}); err != nil {
			t.Fatal(err)
		}
		made, token, err := client.New(b.NC, b.JS, client.Options{}).AddToken(t.Context(), client.Token{Name: "desk", Role: "read"})
		if err != nil || made.Name != "desk" || token == "" {
			t.Errorf("got %+v, %v", made, err)
		}
	})
}
