package client_test

import (
	"os"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/host"
)

// This binary is also the sandbox of the commands of the hosts that it tests.
func TestMain(m *testing.M) {
	bustest.ManyAtOnce()
	host.Begin()
	os.Exit(m.Run())
}
