package bustest

import (
	"testing"

	"go.uber.org/goleak"
)

// VerifyNoLeaks runs the tests of a package, and fails when they leave a goroutine behind.
// The client's object store loses one of its own when a put is over before that starts, and
// a server that stops while it sets up a mirror another, which ends by itself later.
func VerifyNoLeaks(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"),
		goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*stream).setupMirrorConsumer.func3"),
	)
}
