//go:build long

package main

import (
	"syscall"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
)

// A host whose name another one has leaves that one the lanes that it serves: they are not
// of its own dead self. When that one has died, it takes them.
func TestHostOfATakenNameLeavesTheLanes(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t)
	js := bustest.OpenConfig(t, bus.Config{URL: url}).JS
	first := startHostIn(t, configured(t, quietConfig), nil, "-s", url, "--name", "kiwi")
	if _, line := first.until(t, "ready"); line["nats"] != url {
		t.Errorf("it is ready at %v, want %s", line["nats"], url)
	}
	bustest.Publish(t, js, "plugin.inbound.web", "hello")
	first.until(t, "this host serves the lane")
	second := startHostIn(t, configured(t, quietConfig), nil, "-s", url, "--name", "kiwi")
	before, _ := second.until(t, "ready")
	for _, line := range before {
		if line["message"] == "taking the lane back" {
			t.Errorf("it takes lanes from a host that lives: %v", line)
		}
	}
	first.kill()
	bustest.Publish(t, js, "plugin.inbound.web", "hello again")
	second.until(t, "this host serves the lane")
}

// The next start comes while the killed process still has its locks, and what a
// crash leaves behind is nothing to warn of.
func TestStartsRightAfterAKill(t *testing.T) {
	t.Parallel()
	dir := configured(t, quietConfig)
	h := startHostIn(t, dir, nil)
	if _, line := h.until(t, "ready"); line["nats"] != "" {
		t.Errorf("without a port it is ready at %v", line["nats"])
	}
	for range 8 {
		if err := h.cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		next := startHostIn(t, dir, nil)
		before, _ := next.until(t, "ready")
		for _, line := range before {
			if line["level"] != "info" {
				t.Errorf("after a crash it says %v", line)
			}
		}
		h = next
	}
}
