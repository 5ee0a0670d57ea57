//go:build long

package bus_test

import (
	"context"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats-server/v2/server"
)

// A server takes the subscriptions away that a user may not have any more, and does not give them
// back when the user may again: without the one for answers no request would ever be answered.
func TestAnswersComeAgain(t *testing.T) {
	t.Parallel()
	user := func(denied ...string) []*server.User {
		return []*server.User{{Username: "ann", Password: "secret", Permissions: &server.Permissions{Subscribe: &server.SubjectPermission{Deny: denied}}}}
	}
	url, srv := bustest.Server(t, func(o *server.Options) { o.Users = user() })
	b := bustest.OpenConfig(t, bus.Config{URL: url, User: "ann", Password: "secret", InboxPrefix: "_INBOX_ann"})
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	srv.Reload(func(o *server.Options) { o.Users = user("_INBOX_ann.>") })
	bustest.Eventually(t, "requests are not answered any more", func() bool { return !answered(t, b) })
	srv.Reload(func(o *server.Options) { o.Users = user() })
	bustest.Eventually(t, "requests are answered again", func() bool { return answered(t, b) })
}

func answered(t *testing.T, b *bus.Bus) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	return b.Healthy(ctx) == nil
}
