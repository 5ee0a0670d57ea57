package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// aloneVariable names the test that a process is for.
const aloneVariable = "AGENTHOST_TEST_ALONE"

// alone runs a test that changes the folder or the environment of its process in a process of
// its own, beside the others. It returns true where that is done, and false in that process.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getenv(aloneVariable) == t.Name() {
		return false
	}
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$", "-test.v", "-test.timeout=5m")
	cmd.Env = append(os.Environ(), aloneVariable+"="+t.Name())
	said, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "--- PASS: "+t.Name()) {
		t.Errorf("in a process of its own: %v\n%s", err, said)
	}
	return true
}
