//go:build crashtest

package agents

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

var passed atomic.Int64

// crashpoint kills the process with SIGKILL when AGENTHOST_CRASH names this
// place: "name" the first time it is passed, "name:3" the third.
func crashpoint(name string) {
	at, count, _ := strings.Cut(os.Getenv("AGENTHOST_CRASH"), ":")
	if at != name {
		return
	}
	n, err := strconv.ParseInt(count, 10, 64)
	if err != nil {
		n = 1
	}
	if passed.Add(1) == n {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}

// stallpoint is where whoever passes stays when AGENTHOST_STALL names the place.
// The rest of the process goes on.
func stallpoint(name string) {
	if os.Getenv("AGENTHOST_STALL") == name {
		select {}
	}
}
