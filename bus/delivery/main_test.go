package delivery_test

import (
	"testing"

	"agenthost/bus/bustest"
)

func TestMain(m *testing.M) {
	bustest.CollectLess()
	bustest.VerifyNoLeaks(m)
}
