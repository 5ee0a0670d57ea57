//go:build unix && long

// Package chaos proves what the host promises by breaking it: real processes
// are killed, stopped and cut off under load, and then the streams are read to
// see that every accepted message was answered once and in order.
//
// A plain go test runs a few of the tests, the build tag long all in a short form.
// AGENTHOST_CHAOS=1 runs them for as long as it takes, and the build tag crashtest adds a
// kill at every step of the crash table:
//
//	AGENTHOST_CHAOS=1 go test -tags crashtest,long ./chaos/...
//
// AGENTHOST_CHAOS_KILLS is how often each host of busy sessions is killed, and
// AGENTHOST_CHAOS_SEED begins other random numbers. AGENTHOST_CHAOS_EDGE is how long
// the line of an edge is cut.
package chaos_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"agenthost/bus/bustest"
	"agenthost/internal/agenthost-chaos/natsnode"
)

// long reports whether the tests may take minutes.
var long = os.Getenv("AGENTHOST_CHAOS") == "1"

// natsVar tells the test binary to be a nats-server, so that the tests need no
// other program.
const natsVar = "AGENTHOST_CHAOS_NATS"

// binary is the agenthost that the tests run.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(natsVar) != "" {
		exit(0, natsnode.Serve(os.Args[1:]))
	}
	if file := os.Getenv(effectsVar); file != "" {
		exit(0, serveEffects(file))
	}
	if file := os.Getenv(ticksVar); file != "" {
		exit(0, serveTicks(file, os.Args[1:]))
	}
	if file := os.Getenv(behaviorVar); file != "" {
		exit(0, serveBehavior(file))
	}
	bustest.TempInMemory()
	dir, err := os.MkdirTemp("", "agenthost-chaos-")
	if err != nil {
		exit(0, err)
	}
	if binary, err = build(dir); err != nil {
		os.RemoveAll(dir)
		exit(0, err)
	}
	flag.Parse()
	if !long { // then the tests mostly wait
		flag.Set("test.parallel", "10")
	}
	code := m.Run()
	exit(code, os.RemoveAll(dir))
}

func exit(code int, err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

// build builds agenthost with the tags of this test.
func build(dir string) (string, error) {
	file := filepath.Join(dir, "agenthost")
	out, err := exec.Command("go", "build", "-tags", tags, "-o", file, "agenthost/cmd/agenthost").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build agenthost: %w\n%s", err, out)
	}
	return file, nil
}

// pick is short in the short form of the tests, else whole.
func pick[T any](short, whole T) T {
	if long {
		return whole
	}
	return short
}
