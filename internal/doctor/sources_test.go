package doctor_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/config"
	"agenthost/host/hosttest"
	"agenthost/internal/doctor"
	"agenthost/tools"

	"github.com/nats-io/nats-server/v2/server"
)

// An account that no agent hears, and one that cannot be built, are found without the platform.
func TestDoctorOfChannels(t *testing.T) {
	t.Parallel()
	cfg, err := config.Parse("agenthost.yaml", []byte(`
models: {one: {provider: echo}}
agents: [{id: bot, channels: [web, {channel: telegram, instance: sales}]}]
plugins: {web: {}, telegram: {sales: {token: "1:a"}, idle: {token: "2:b"}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	_, lines := examine(t, doctor.Doctor{Config: cfg, Path: "agenthost.yaml", Offline: true})
	wantLine(t, lines, "warn channels telegram.idle no agent is bound to it")
	wantNoLine(t, lines, "channels telegram.sales")
	wantNoLine(t, lines, "channels web")
}

// Why an MCP server cannot be used is told apart.
func TestDoctorOfMCPServersThatAreAway(t *testing.T) {
	t.Parallel()
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	cfg := hosttest.Demo(t)
	cfg.MCP = map[string]tools.MCPConfig{
		"slow": {URL: slow.URL},
		"path": {Command: []string{"own"}, Env: map[string]string{"PATH": "/opt"}},
	}
	_, lines := examine(t, doctor.Doctor{Config: cfg, Within: 100 * time.Millisecond})
	wantLine(t, lines, "fail tools mcp.slow http://… did not answer in time")
	wantLine(t, lines, "ok tools mcp.path own is looked for in a PATH of its own")
}

// A user that NATS allows too little needs other permissions, and no other server.
func TestDoctorOfAUserWithoutPermissions(t *testing.T) {
	t.Parallel()
	url, _ := bustest.Server(t, func(o *server.Options) {
		o.Users = []*server.User{{Username: "ann", Password: "secret", Permissions: &server.Permissions{
			Publish: &server.SubjectPermission{Deny: []string{"$JS.API.>"}},
		}}}
	})
	cfg := hosttest.Demo(t)
	cfg.NATS = bus.Config{URL: url, User: "ann", Password: "secret", Embedded: bus.Embedded{Store: t.TempDir()}}
	_, lines := examine(t, doctor.Doctor{Config: cfg, Within: 300 * time.Millisecond})
	wantLine(t, lines, "fail nats server NATS refuses this user … → see docs/operations.md")
}
