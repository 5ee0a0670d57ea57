package host_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// kept waits until a stream has n messages and reads the first n.
func kept[T any](t *testing.T, nc *nats.Conn, stream string, n int) []T {
	t.Helper()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	c, err := js.OrderedConsumer(t.Context(), stream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		t.Fatal(err)
	}
	var list []T
	for len(list) < n {
		msg, err := c.Next(jetstream.FetchMaxWait(15 * time.Second))
		if err != nil {
			t.Fatalf("%d of %d in stream %s: %v", len(list), n, stream, err)
		}
		var v T
		if err := json.Unmarshal(msg.Data(), &v); err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}
