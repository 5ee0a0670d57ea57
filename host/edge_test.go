package host_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/waittest"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// A host at the edge, configured as docs/operations.md has it, answers who is on
// the hub, works on while that is away, and is there again when it comes back.
func TestEdge(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, conf, _ := strings.Cut(string(page), "```conf edge\n")
	conf, _, found := strings.Cut(conf, "```")
	if !found {
		t.Fatal("docs/operations.md has no leaf.conf")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	line := l.Addr().(*net.TCPAddr)
	l.Close()
	hub, there := bustest.Server(t, func(o *server.Options) {
		o.JetStreamDomain, o.LeafNode.Host, o.LeafNode.Port = "hub", line.IP.String(), line.Port
	})
	file := filepath.Join(t.TempDir(), "leaf.conf")
	conf = strings.Replace(conf, "hub.example:7422", line.String(), 1)
	if err := os.WriteFile(file, []byte(conf), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := demo(t)
	cfg.NATS.Domain, cfg.NATS.Embedded.Config = "edge", file
	h, _ := start(t, cfg)
	nc, err := nats.Connect(hub, nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	answered := func(from *nats.Conn, id string) {
		t.Helper()
		sub, err := from.SubscribeSync("plugin.outbound.demo")
		if err != nil {
			t.Fatal(err)
		}
		defer sub.Unsubscribe()
		waittest.Until(t, id+" is answered", func() bool { // the interest in it has to come over the line
			publish(t, from, "plugin.inbound.demo", bus.Inbound{ID: id, From: "ana", Text: id})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			msg, err := sub.NextMsgWithContext(ctx)
			return err == nil && strings.Contains(string(msg.Data), `"text":"`+id+`"`)
		})
	}
	answered(nc, "by the hub")
	there.Stop()
	answered(h.Bus().NC, "while it is away")
	there.Start()
	answered(nc, "by the hub again")
}
