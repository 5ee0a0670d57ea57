package host_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"agenthost/config"
	"agenthost/host"
	"agenthost/internal/sandbox"
)

// builder is the configuration of an agent that runs commands.
func builder(t *testing.T) *config.Config {
	t.Helper()
	cfg := demo(t)
	cfg.Agents[0].Tools = []string{"run_command"}
	cfg.Agents[0].Sandbox.Network = true
	return cfg
}

// The host's own test program is none that begins with host.Begin, so its
// commands are not confined.
func TestDoctorOfTheSandbox(t *testing.T) {
	_, lines := examine(t, host.Doctor{Config: builder(t), Offline: true})
	wantLine(t, lines, "warn tools run_command commands are not confined, so each needs an approval: the program does not begin with SandboxMain → see docs/security.md")
	wantLine(t, lines, "ok tools demo its commands may use the network")
	if asRoot := strings.Contains(strings.Join(lines, "\n"), "this user is root"); asRoot != (os.Geteuid() == 0) {
		t.Errorf("got %v of root", asRoot)
	}
	_, lines = examine(t, host.Doctor{Config: demo(t), Offline: true})
	if all := strings.Join(lines, "\n"); strings.Contains(all, "run_command") {
		t.Errorf("without commands: got %s", all)
	}
}

func TestHostSaysWhatCommandsAreHeldTo(t *testing.T) {
	var log bytes.Buffer
	_, stop := startOptions(t, host.Options{Config: builder(t), Log: zerolog.New(zerolog.SyncWriter(&log))})
	stop()
	for _, want := range []string{
		`"reason":"` + sandbox.Check().Layers + `","message":"sandbox commands: not confined; every command needs an approval"`,
		`"agent":"demo","message":"sandbox commands: this agent's may use the network"`,
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%s is not in\n%s", want, log.String())
		}
	}
	if asRoot := strings.Contains(log.String(), "the host runs as root"); asRoot != (os.Geteuid() == 0) {
		t.Errorf("got %v of root", asRoot)
	}
}
