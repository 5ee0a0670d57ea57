//go:build crashtest

package crash

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

var passed atomic.Int64

// flushWithin is how long the client may take to send what it was given.
const flushWithin = 50 * time.Millisecond

// Point kills the process with SIGKILL when AGENTHOST_CRASH names this
// place: "name" the first time it is passed, "name:3" the third. The kill comes
// once what was sent before has left the process, so that an acknowledgement that
// was sent too early is not lost with it.
func Point(name string) {
	at, count, _ := strings.Cut(os.Getenv("AGENTHOST_CRASH"), ":")
	if at != name {
		return
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		n = 1
	}
	if passed.Add(1) == n {
		time.Sleep(flushWithin)
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// Stall blocks the goroutine that passes it when AGENTHOST_STALL names the place.
// The rest of the process goes on.
func Stall(name string) {
	if os.Getenv("AGENTHOST_STALL") == name {
		select {}
	}
}
