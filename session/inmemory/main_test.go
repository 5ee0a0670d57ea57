package inmemory_test

import (
	"testing"

	"agenthost/bus/bustest"
)

func TestMain(m *testing.M) { bustest.VerifyNoLeaks(m) }
