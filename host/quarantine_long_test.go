//go:build long

package host_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/micro"

	"agenthost/internal/waittest"
	"agenthost/tools"
)

// One service with a bad schema leaves the agent its voice, and the tool.
func TestStatusTellsOfEndpointWithFaultySchema(t *testing.T) {
	t.Parallel()
	cfg := withTools(t)
	cfg.Services = map[string]tools.ServiceConfig{"billing": {}}
	h, _ := start(t, cfg)
	svc, err := micro.AddService(h.Bus().NC, micro.Config{Name: "billing", Version: "1.0.0"})
	if err != nil {
		t.Fatal(err)
	}
	typo := micro.WithEndpointMetadata(map[string]string{"schema": `{"type":"objekt"}`})
	if err := svc.AddEndpoint("charge", micro.HandlerFunc(func(r micro.Request) { _ = r.Respond(nil) }), typo); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the fault is known", func() bool {
		return slices.ContainsFunc(hostStatus(t, h).ToolFaults, func(f string) bool {
			return strings.HasPrefix(f, `tool "billing.charge" of service "billing": schema cannot be read: /type: `)
		})
	})
}
