package slack

import (
	"context"
	"testing"

	"agenthost/plugins/settings"
)

// A connection that ends while a name is asked for does not keep those that come next without names.
func TestNameAtTheEndOfAConnection(t *testing.T) {
	t.Parallel()
	made, err := New(settings.Slack{API: "http://127.0.0.1:1", BotToken: "xoxb-t", AppToken: "xapp-t"})
	if err != nil {
		t.Fatal(err)
	}
	c := made.(*Channel)
	ended, end := context.WithCancel(t.Context())
	end()
	c.name(ended, "U1")
	if !c.nameless.IsZero() {
		t.Error("no names are asked for any more")
	}
	c.name(t.Context(), "U1") // a Slack that does not answer
	if c.nameless.IsZero() {
		t.Error("names are asked for again at once")
	}
}
