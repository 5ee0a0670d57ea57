package doctor_test

import (
	"os"
	"strings"
	"testing"

	"agenthost/host/hosttest"
	"agenthost/internal/doctor"
)

// This test program does not begin with host.Begin, so its commands are not
// confined.
func TestDoctorOfTheSandbox(t *testing.T) {
	t.Parallel()
	cfg := hosttest.Demo(t)
	cfg.Agents[0].Tools = []string{"run_command"}
	cfg.Agents[0].Sandbox.Network = true
	_, lines := examine(t, doctor.Doctor{Config: cfg, Offline: true})
	wantLine(t, lines, "warn tools run_command commands are not confined, so each needs an approval: the program does not begin with host.Begin → see docs/security.md")
	wantLine(t, lines, "ok tools demo its commands may use the network")
	if asRoot := strings.Contains(strings.Join(lines, "\n"), "this user is root"); asRoot != (os.Geteuid() == 0) {
		t.Errorf("got %v of root", asRoot)
	}
	_, lines = examine(t, doctor.Doctor{Config: hosttest.Demo(t), Offline: true})
	if all := strings.Join(lines, "\n"); strings.Contains(all, "run_command") {
		t.Errorf("without commands: got %s", all)
	}
}
