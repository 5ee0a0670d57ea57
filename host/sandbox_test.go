package host_test

import (
	"os"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"agenthost/bus/bustest"
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

func TestHostSaysWhatCommandsAreHeldTo(t *testing.T) {
	t.Parallel()
	var log bustest.LogBuffer
	_, stop := startOptions(t, host.Options{Config: builder(t), Log: zerolog.New(&log)})
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
