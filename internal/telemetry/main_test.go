package telemetry_test

import (
	"os"
	"testing"

	"agenthost/bus/bustest"
)

func TestMain(m *testing.M) {
	bustest.ManyAtOnce()
	os.Exit(m.Run())
}
