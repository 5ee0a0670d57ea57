package bus

import (
	"context"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// APITimeout bounds what JetStream may take for one answer.
const APITimeout = 5 * time.Second

// APIPrefix is that of the subjects of the JetStream API that js uses.
func APIPrefix(js jetstream.JetStream) string {
	switch o := js.Options(); {
	case o.Domain != "":
		return "$JS." + o.Domain + ".API."
	case o.APIPrefix != "":
		return strings.TrimSuffix(o.APIPrefix, ".") + "."
	}
	return OwnAPI
}

// OwnAPI is the prefix of the JetStream that the server itself has.
const OwnAPI = "$JS.API."

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
