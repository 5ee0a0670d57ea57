package engine_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"slices"
	"testing"
	"time"

	"agenthost/agents"
	"agenthost/bus"
	"agenthost/llm"
)

// A talker says as many deltas as the user asks for, and measures what the host
// does with each before it wants the next.
type talker struct {
	took   []time.Duration
	allocs uint64 // of all deltas
	bytes  uint64
}

func (s *talker) Stream(_ context.Context, req llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		var n int
		_, _ = fmt.Sscan(req.LastText(), &n)
		s.took = slices.Grow(s.took, n)
		before, after := runtime.MemStats{}, runtime.MemStats{}
		runtime.ReadMemStats(&before)
		for range n {
			at := time.Now()
			if !yield(llm.Delta{Text: "a token "}, nil) {
				return
			}
			s.took = append(s.took, time.Since(at))
		}
		runtime.ReadMemStats(&after)
		s.allocs += after.Mallocs - before.Mallocs
		s.bytes += after.TotalAlloc - before.TotalAlloc
		yield(llm.Delta{Finish: llm.FinishStop}, nil)
	}
}

// BenchmarkStream is what a delta costs from the provider to the connection,
// in answers of different lengths. One operation is one answer.
func BenchmarkStream(b *testing.B) {
	for _, deltas := range []int{100, 10_000} {
		b.Run(fmt.Sprint("deltas=", deltas), func(b *testing.B) {
			s := &talker{}
			w := newWorld(b, actor{cfg: agents.Config{ID: "ana", Channels: []agents.Binding{{Channel: "web"}}}, model: s})
			n := 0
			for b.Loop() {
				w.say("web", bus.Inbound{From: fmt.Sprint("user", n), Text: fmt.Sprint(deltas)})
				w.hear()
				n++
			}
			slices.Sort(s.took)
			sum := time.Duration(0)
			for _, d := range s.took {
				sum += d
			}
			all := float64(len(s.took))
			b.ReportMetric(float64(sum)/all, "ns/delta")
			b.ReportMetric(float64(s.took[len(s.took)*99/100]), "p99-ns/delta")
			b.ReportMetric(float64(s.allocs)/all, "allocs/delta")
			b.ReportMetric(float64(s.bytes)/all, "B/delta")
		})
	}
}
