package web_test

import (
	"os"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/plugins/web"
)

func TestMain(m *testing.M) {
	bustest.ManyAtOnce()
	web.RefuseSoon()
	os.Exit(m.Run())
}
