//go:build unix && long

package chaos_test

import (
	"net"
	"os"
	"testing"

	"agenthost/internal/freeport"
)

// startNATS starts a server with its defaults and returns its address, where it
// takes connections.
func startNATS(t testing.TB) (*process, string) {
	t.Helper()
	address := freeport.Address(t)
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := newProcess(t, "nats", self, "-js", "-sd", t.TempDir(), "-a", "127.0.0.1", "-p", port)
	p.env = []string{natsVar + "=1"}
	p.start()
	await(t, "the server", func() bool {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return false
		}
		_ = conn.Close()
		return true
	})
	return p, address
}
