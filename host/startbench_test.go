package host_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"agenthost/agents"
	"agenthost/config"
	"agenthost/host"

	"github.com/rs/zerolog"
)

// BenchmarkStart is what a host of so many agents takes to get ready, and how
// large the process is then.
func BenchmarkStart(b *testing.B) {
	for _, n := range []int{1, 1000, 10_000} {
		b.Run(fmt.Sprintf("agents=%d", n), func(b *testing.B) {
			cfg := many(demo(b), n)
			size := 0.0
			for b.Loop() {
				h := host.New(host.Options{Config: cfg, Version: "0.1.0", Log: zerolog.Nop()})
				ctx, cancel := context.WithCancel(context.Background())
				ended := make(chan error, 1)
				go func() { ended <- h.Run(ctx) }()
				select {
				case <-h.Ready():
				case err := <-ended:
					b.Fatal(err)
				}
				b.StopTimer()
				runtime.GC()
				size = max(size, resident())
				cancel()
				if err := <-ended; err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
			}
			b.ReportMetric(size, "MB")
		})
	}
}

// resident is the memory of this process in MB, 0 where it cannot be told.
func resident() float64 {
	data, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(data))[1])
	return float64(pages) * float64(os.Getpagesize()) / 1e6
}

// many is cfg with n agents like its first, each with an instance of its own.
func many(cfg *config.Config, n int) *config.Config {
	first := cfg.Agents[0]
	cfg.Agents = make([]config.Agent, n)
	for i := range cfg.Agents {
		a := first
		a.ID = fmt.Sprint("demo", i)
		a.Channels = []agents.Binding{{Channel: "demo", Instance: strconv.Itoa(i)}}
		cfg.Agents[i] = a
	}
	return cfg
}
