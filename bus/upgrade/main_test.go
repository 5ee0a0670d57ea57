package upgrade_test

import (
	"fmt"
	"os"
	"testing"

	"agenthost/bus/bustest"
)

func TestMain(m *testing.M) {
	if env := os.Getenv(dieEnv); env != "" {
		if err := upgradeUntilDeath(env); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	bustest.ManyAtOnce()
	bustest.VerifyNoLeaks(m)
}
