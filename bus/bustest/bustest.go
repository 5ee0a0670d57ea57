// Package bustest gives tests a real NATS: a bus with its server inside the
// process, a server of its own that can go away and come back, and a fake
// clock for both sides of an embedded one.
package bustest

import (
	"testing"

	"agenthost/bus"
	"agenthost/internal/natsserver"

	"github.com/rs/zerolog"
)

// Open opens a Bus with an empty embedded server that has no port. It is
// closed when the test ends.
func Open(t testing.TB) *bus.Bus {
	t.Helper()
	return OpenConfig(t, Config(t))
}

// OpenConfig opens a Bus on cfg and closes it when the test ends.
func OpenConfig(t testing.TB, cfg bus.Config) *bus.Bus {
	t.Helper()
	b, err := TryOpen(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TryOpen is OpenConfig for a configuration that may be refused.
func TryOpen(t testing.TB, cfg bus.Config) (*bus.Bus, error) {
	t.Helper()
	b, err := natsserver.Open(t.Context(), bus.Options{Name: "test", Log: Log(t), Config: cfg})
	if err == nil {
		t.Cleanup(b.Close)
	}
	return b, err
}

// Config is that of Open: embedded, no port, a store that ends with the test
// and is not synced to disk at each write.
func Config(t testing.TB) bus.Config {
	t.Helper()
	noPort := ""
	return bus.Config{Embedded: bus.Embedded{Store: Dir(t), Listen: &noPort, Sync: "2m"}}
}

// Log writes to the log of the test, down to debug level.
func Log(t testing.TB) zerolog.Logger {
	return zerolog.New(zerolog.NewTestWriter(t)).Level(zerolog.DebugLevel)
}
