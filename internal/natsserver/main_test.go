package natsserver_test

import (
	"testing"

	"agenthost/bus/bustest"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	bustest.ManyAtOnce()
	goleak.VerifyTestMain(m)
}
