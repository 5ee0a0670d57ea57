package host_test

import (
	"fmt"
	"testing"

	"agenthost/bus"
)

// BenchmarkEcho is the whole durable path of a message: commit, reply, ack.
func BenchmarkEcho(b *testing.B) {
	for _, sync := range []string{"always", "2m"} {
		b.Run("sync="+sync, func(b *testing.B) {
			cfg := demo(b)
			cfg.NATS.Embedded.Sync = sync
			h, _ := start(b, cfg)
			nc := h.Bus().NC
			b.ResetTimer()
			out := outbound(b, nc, b.N)
			for i := range b.N {
				publish(b, nc, "plugin.inbound.demo", bus.Inbound{ID: fmt.Sprint(i), From: fmt.Sprint("user", i%500), Text: "hi there"})
			}
			out()
		})
	}
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
