package email

import (
	"os"
	"testing"
	"time"

	"agenthost/bus/bustest"
)

func TestMain(m *testing.M) {
	idleFor = 2 * time.Second // the server of the tests loses the word of some mail
	answerWithin = 3 * time.Second
	bustest.ManyAtOnce()
	os.Exit(m.Run())
}
