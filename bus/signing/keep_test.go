package signing_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/records"
	"agenthost/bus/signing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// keep keeps to the key of the fleet as a host does, and logs to what it returns.
func keep(t *testing.T, b *bus.Bus, s *signing.Signer) *bustest.LogBuffer {
	t.Helper()
	log := &bustest.LogBuffer{}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Keep(ctx, b.JS, zerolog.New(log))
	}()
	t.Cleanup(func() { cancel(); <-done })
	return log
}

func verifies(s, by *signing.Signer) bool {
	msg := nats.NewMsg("agent.route.ana")
	by.Sign(msg)
	return s.Verify(msg.Subject, msg.Header, nil)
}

// makeAgain makes the bucket with the key again, without it.
func makeAgain(t *testing.T, b *bus.Bus) {
	t.Helper()
	err := b.JS.DeleteKeyValue(t.Context(), bus.LanesBucket)
	if err == nil {
		_, err = b.JS.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: bus.LanesBucket})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A host that runs puts its key back into a bucket that was made again.
func TestKeyIsPutBack(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b, host := openSigner(t)
		log := keep(t, b, host)
		makeAgain(t, b)
		bustest.Eventually(t, "the key is back", func() bool {
			s, err := signing.Read(t.Context(), b.JS)
			return err == nil && verifies(s, host)
		})
		bustest.Eventually(t, "it is said", func() bool { return strings.Contains(log.String(), "has put its own back") })
		for _, garbage := range []string{"", "short", strings.Repeat("long", 20)} { // with which others could sign
			kv, err := b.JS.KeyValue(t.Context(), bus.LanesBucket)
			if err == nil {
				_, err = kv.PutString(t.Context(), signing.Key, garbage)
			}
			if err != nil {
				t.Fatal(err)
			}
			if _, err := signing.Read(t.Context(), b.JS); !errors.Is(err, records.ErrNotFound) {
				t.Errorf("%q: got %v, want %v", garbage, err, records.ErrNotFound)
			}
			bustest.Eventually(t, "the key is in its place", func() bool {
				s, err := signing.Read(t.Context(), b.JS)
				return err == nil && verifies(s, host)
			})
		}
	})
}

// A host that runs goes over to the key of one that was quicker, and still knows its own.
func TestKeyOfAnotherHost(t *testing.T) {
	bustest.Bubble(t, func(t *testing.T) {
		b, host := openSigner(t)
		before, err := signing.Read(t.Context(), b.JS)
		if err != nil {
			t.Fatal(err)
		}
		makeAgain(t, b)
		other, err := signing.Open(t.Context(), b.JS)
		if err != nil {
			t.Fatal(err)
		}
		log := keep(t, b, host)
		bustest.Eventually(t, "each knows the other", func() bool { return verifies(host, other) && verifies(other, host) })
		if !verifies(host, before) {
			t.Error("what is signed with the key of before does not verify any more")
		}
		bustest.Eventually(t, "it is said once", func() bool { return strings.Count(log.String(), "signs with that now") == 1 })
	})
}
