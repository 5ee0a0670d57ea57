//go:build unix && !linux

package agenthost_test

import (
	"syscall"
	"testing"
)

func ownNetwork(*testing.T) (string, *syscall.SysProcAttr, bool) { return "", nil, false }

func loopbackUp() error { return nil }
