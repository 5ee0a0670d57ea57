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
// place: "name" the first time it is passed, "name:3" the third. When
// AGENTHOST_STALL names it, whoever passes stays there, and the rest goes on.
func crashpoint(name string) {
	if os.Getenv("AGENTHOST_STALL") == name {
		select {}
	}
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
