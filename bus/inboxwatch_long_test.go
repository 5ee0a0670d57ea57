//go:build long

package bus_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
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

// A server that allows fewer subscriptions than there are leaves some out, and does not make up for
// it when it allows more.
func TestSubscriptionsComeAgain(t *testing.T) {
	t.Parallel()
	allow := func(subscriptions int) func(*server.Options) {
		return func(o *server.Options) {
			var with server.Options
			if err := with.ProcessConfigString(fmt.Sprintf(
				`accounts { A { jetstream: enabled, limits: {max_subscriptions: %d}, users: [{user: ann, password: secret}] } }`, subscriptions)); err != nil {
				t.Error(err)
				return
			}
			o.Accounts, o.Users = with.Accounts, with.Users
		}
	}
	url, srv := bustest.Server(t, allow(1000))
	b := bustest.OpenConfig(t, bus.Config{URL: url, User: "ann", Password: "secret"})
	got := make(chan struct{}, 100)
	for _, subject := range []string{"a", "b", "c", "d"} {
		if _, err := b.NC.Subscribe(subject, func(*nats.Msg) { got <- struct{}{} }); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	srv.Reload(allow(2))
	bustest.Eventually(t, "the lack is noticed", func() bool { return errors.Is(b.Healthy(t.Context()), bus.ErrFewSubscriptions) })
	srv.Reload(allow(1000))
	bustest.Eventually(t, "requests are answered again", func() bool { return answered(t, b) })
	for _, subject := range []string{"a", "b", "c", "d"} {
		if err := b.NC.Publish(subject, nil); err != nil {
			t.Fatal(err)
		}
		<-got
	}
}

func answered(t *testing.T, b *bus.Bus) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	return b.Healthy(ctx) == nil
}
