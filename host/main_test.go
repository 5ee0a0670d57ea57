package host_test

import (
	"os"
	"testing"

	"agenthost/bus/bustest"
)

func TestMain(m *testing.M) {
	bustest.TempInMemory()
	bustest.ManyAtOnce()
	os.Exit(m.Run())
}
