package filestore

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"agenthost/bus/bustest"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A file that is deleted while it is read is not there, however the client says that its
// content did not come.
func TestFileIsDeletedWhileItIsRead(t *testing.T) {
	t.Parallel()
	b := bustest.Open(t)
	bustest.Provision(t, b.JS)
	for _, timeout := range []error{nats.ErrTimeout, fmt.Errorf("read pipe: %w", os.ErrDeadlineExceeded)} {
		err := New(b.JS).complete(t.Context(), "gone", func(jetstream.ObjectStore) error { return timeout })
		if !errors.Is(err, jetstream.ErrObjectNotFound) {
			t.Errorf("%v: got %v, want %v", timeout, err, jetstream.ErrObjectNotFound)
		}
	}
}
