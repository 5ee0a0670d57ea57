package host_test

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/host"
	"agenthost/internal/pairing"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// BenchmarkSenders is what people cost who all write to one binding with a rate and
// pairing: those who are let in, and strangers. go test ./host -run ^$ -bench Senders
func BenchmarkSenders(b *testing.B) {
	for _, people := range []int{200, 10_000} {
		b.Run(fmt.Sprintf("paired=%d", people), func(b *testing.B) { benchSenders(b, people, people, "ana") })
		b.Run(fmt.Sprintf("strangers=%d", people), func(b *testing.B) { benchSenders(b, 10_000, people, "stranger") })
	}
}

// benchSenders has people write who are called name and a number; paired are let in.
func benchSenders(b *testing.B, paired, people int, name string) {
	cfg := demo(b)
	cfg.Agents[0].Channels = []agents.Binding{{
		Channel: "demo", Senders: agents.Senders{Pairing: true}, Rate: agents.Rate{Messages: 1000, Per: time.Hour},
	}}
	h, _ := startOptions(b, host.Options{Config: cfg, Log: zerolog.Nop()})
	pairAll(b, h, paired)
	before := heapInUse()
	n := 0
	for b.Loop() {
		flood(b, h, people, name, n)
		n++
	}
	b.ReportMetric(float64(people*n)/b.Elapsed().Seconds(), "messages/s")
	b.ReportMetric((heapInUse()-before)/float64(people), "heap-B/sender")
}

func heapInUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// pairAll lets people in, and waits until the host knows the last of them.
func pairAll(b testing.TB, h *host.Host, people int) {
	b.Helper()
	kv, err := h.Bus().JS.KeyValue(b.Context(), bus.PairingsBucket)
	if err != nil {
		b.Fatal(err)
	}
	for i := range people {
		p := pairing.Pairing{Agent: "demo", Channel: "demo", From: fmt.Sprintf("ana%d", i), Approved: true, ApprovedAt: time.Now().Add(-time.Hour)}
		data, err := json.Marshal(p)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := kv.Put(b.Context(), p.Key(), data); err != nil {
			b.Fatal(err)
		}
	}
}

// flood has everybody write once, and waits until all that is settled.
func flood(b testing.TB, h *host.Host, people int, name string, round int) {
	b.Helper()
	js := h.Bus().JS
	for i := range people {
		data, err := json.Marshal(bus.Inbound{ID: fmt.Sprintf("%d-%d", round, i), From: fmt.Sprintf("%s%d", name, i), Text: "hello"})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := js.PublishMsgAsync(&nats.Msg{Subject: "plugin.inbound.demo", Data: data}); err != nil {
			b.Fatal(err)
		}
		if i%1000 == 999 {
			<-js.PublishAsyncComplete()
		}
	}
	<-js.PublishAsyncComplete()
	bustest.Eventually(b, "all is settled", func() bool {
		s, err := js.Stream(b.Context(), bus.InboundStream)
		if err != nil {
			b.Fatal(err)
		}
		for c := range s.ListConsumers(b.Context()).Info() {
			if c.NumPending+uint64(c.NumAckPending) > 0 {
				return false
			}
		}
		return true
	})
}
