package host_test

import (
	"fmt"
	"testing"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
)

// BenchmarkEcho is the whole durable path of a message, of 500 people with four
// agents: commit, reply, ack. Beside it runs the same load without an agent.
func BenchmarkEcho(b *testing.B) {
	for _, sync := range []string{"always", "2m"} {
		b.Run("sync="+sync+"/raw", func(b *testing.B) {
			cfg := demo(b)
			cfg.NATS.Embedded.Sync = sync
			echo(b, rawEcho(b, cfg.NATS))
		})
		b.Run("sync="+sync+"/host", func(b *testing.B) {
			cfg := demo(b)
			cfg.NATS.Embedded.Sync = sync
			h, _ := start(b, many(cfg, benchAgents))
			echo(b, h.Bus().NC)
		})
	}
}

const benchAgents = 4

// echo sends b.N messages and waits for their answers.
func echo(b *testing.B, nc *nats.Conn) {
	b.Helper()
	out := outbound(b, nc, b.N)
	b.ResetTimer()
	for i := range b.N {
		person := i % 500
		publish(b, nc, fmt.Sprint("plugin.inbound.demo.", person%benchAgents), bus.Inbound{
			ID: fmt.Sprint(i), From: fmt.Sprint("user", person), Text: "hi there",
		})
	}
	out()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msg/s")
}

// BenchmarkTurn is a turn of a session that had so many turns before, in the
// default window.
func BenchmarkTurn(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprintf("after=%d", n), func(b *testing.B) {
			cfg := demo(b)
			cfg.NATS.Embedded.Sync = "2m"
			h, _ := start(b, cfg)
			c := converse(b, h)
			turns(c, n)
			b.ReportAllocs()
			for b.Loop() {
				c.mustSay("hello, what is new today?")
			}
		})
	}
}
