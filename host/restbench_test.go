package host_test

import (
	"fmt"
	"runtime"
	"testing"

	"agenthost/bus"
	"agenthost/config"
)

// BenchmarkRest is what a session holds in memory that nothing happens in: after
// one exchange, or while its run waits for somebody. What the embedded NATS
// keeps of its messages is in it.
func BenchmarkRest(b *testing.B) {
	for name, cfg := range map[string]*config.Config{"answered": demo(b), "waiting": withTools(b)} {
		b.Run(name, func(b *testing.B) {
			h, _ := start(b, cfg)
			nc := h.Bus().NC
			talk := func(who string, n int) uint64 {
				sub, err := nc.SubscribeSync("plugin.outbound.>")
				if err != nil {
					b.Fatal(err)
				}
				for i := range n {
					publish(b, nc, "plugin.inbound.demo", bus.Inbound{From: fmt.Sprint(who, i), Text: "ask"})
				}
				for range n {
					if _, err := sub.NextMsgWithContext(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				if err := sub.Unsubscribe(); err != nil {
					b.Fatal(err)
				}
				runtime.GC()
				runtime.GC() // what a pool holds goes with the second
				m := runtime.MemStats{}
				runtime.ReadMemStats(&m)
				return m.HeapAlloc
			}
			before := talk("first", 1000)
			after := talk("then", b.N)
			b.ReportMetric(float64(int64(after)-int64(before))/float64(b.N), "B/session")
		})
	}
}
