package natsserver_test

import (
	"testing"

	"agenthost/bus/bustest"
)

func TestMain(m *testing.M) {
	bustest.ManyAtOnce()
	bustest.VerifyNoLeaks(m)
}
