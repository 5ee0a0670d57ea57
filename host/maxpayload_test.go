package host_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/waittest"
	"agenthost/llm"

	"github.com/nats-io/nats-server/v2/server"
)

// What NATS takes in a message counts as it is by then: a host that keeps to what it was when it
// started fails on all that is larger.
func TestMaxPayloadIsLowered(t *testing.T) {
	t.Parallel()
	const lowered = 128 << 10
	url, srv := bustest.Server(t)
	cfg := demo(t)
	cfg.NATS.URL, cfg.HTTP.Listen = url, ""
	script := filepath.Join(t.TempDir(), "twice.rules")
	if err := os.WriteFile(script, []byte(`rules: [{text: "${text}${text}"}]`), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg.Models = map[string]llm.Config{"main": cfgScripted(script)}
	cfg.Agents[0].Model = []string{"main"}
	h, _ := start(t, cfg)
	nc := h.Bus().NC
	sub, err := nc.SubscribeSync("plugin.outbound.demo")
	if err != nil {
		t.Fatal(err)
	}
	srv.Reload(func(o *server.Options) { o.MaxPayload = lowered })
	if err := nc.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the connection has the new limit", func() bool { return nc.MaxPayload() == lowered })
	data, err := json.Marshal(bus.Inbound{Text: strings.Repeat("y", 80<<10)})
	if err == nil {
		_, err = h.Bus().JS.Publish(t.Context(), "plugin.inbound.demo", data)
	}
	if err != nil {
		t.Fatal(err)
	}
	if out := next(t, sub); out.Kind != bus.KindReply || len(out.Media) != 1 || out.Media[0].Size != 160<<10 {
		t.Errorf("got a %s of %d bytes with files %+v", out.Kind, len(out.Text), out.Media)
	}
}
