package bustest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// VerifyNoLeaks runs the tests of a package, and fails when they leave a goroutine behind.
// On a busy machine one that has been told to end may need its time.
func VerifyNoLeaks(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if err := noLeaks(30 * time.Second); err != nil {
			fmt.Fprintln(os.Stderr, "goroutines that the tests left behind:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// noLeaks waits until no goroutine is left. The client's object store loses one of its own
// when a put is over before that starts, and a server that stops while it sets up a mirror
// another, which ends by itself later.
func noLeaks(wait time.Duration) error {
	for end := time.Now().Add(wait); ; {
		err := goleak.Find( // it looks for about a second
			goleak.IgnoreTopFunction("github.com/nats-io/nats.go/jetstream.(*jetStream).resetPendingAcksOnReconnect"),
			goleak.IgnoreTopFunction("github.com/nats-io/nats-server/v2/server.(*stream).setupMirrorConsumer.func3"),
		)
		if err == nil || time.Now().After(end) {
			return err
		}
	}
}
