package bus_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"

	"github.com/rs/zerolog"
)

// A command finds the embedded server of a host that listens on any free port.
func TestDialOfAnyPort(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	free, store := "127.0.0.1:0", t.TempDir()
	if err := os.WriteFile(filepath.Join(store, "address"), []byte(strings.TrimPrefix(url, "nats://")), 0o600); err != nil {
		t.Fatal(err)
	}
	nc, _, err := bus.Dial(t.Context(), bus.Config{Embedded: bus.Embedded{Store: store, Listen: &free}}, "test", zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
}
