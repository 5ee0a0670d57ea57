//go:build unix

package host_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/bus/streams"
	"agenthost/host"
	"agenthost/internal/natsserver"
	"agenthost/llm"
	"agenthost/run"
	"agenthost/session"

	"github.com/rs/zerolog"
)

// storedVar is how many sessions BenchmarkStored writes; default 100,000.
const storedVar = "AGENTHOST_STORED"

// BenchmarkStored measures what many stored sessions cost a host that starts, and those
// who list and search them.
func BenchmarkStored(b *testing.B) {
	n := 100_000
	if text := os.Getenv(storedVar); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil || n < 1 {
			b.Fatalf("%s=%q: want a number of sessions", storedVar, text)
		}
	}
	cfg := demo(b)
	cfg.NATS.Embedded.Sync = "2m"
	agent := cfg.Agents[0].ID
	began := time.Now()
	writeSessions(b, cfg.NATS, agent, n)
	b.Logf("%d sessions written in %s", n, time.Since(began).Round(time.Millisecond))
	opt := host.Options{Config: cfg, Version: "0.1.0", Log: zerolog.Nop()}

	b.Run("start", func(b *testing.B) {
		defer reportCPU(b, cpuTime())
		for b.Loop() {
			_, stop := startOptions(b, opt)
			b.StopTimer()
			stop()
			b.StartTimer()
		}
	})
	h, _ := startOptions(b, opt)
	a := session.NewArchive(h.Bus().JS)
	b.Run("list", func(b *testing.B) {
		defer reportCPU(b, cpuTime())
		for b.Loop() {
			list, err := a.List(b.Context(), session.Page{Limit: 50})
			if err != nil || len(list.Sessions) != 50 {
				b.Fatalf("got %d sessions, %v", len(list.Sessions), err)
			}
		}
	})
	b.Run("list of a channel", func(b *testing.B) { // every session is looked at, up to a bound
		defer reportCPU(b, cpuTime())
		for b.Loop() {
			if _, err := a.List(b.Context(), session.Page{Limit: 50, Channel: "telegram"}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("search", func(b *testing.B) {
		defer reportCPU(b, cpuTime())
		for b.Loop() {
			found := 0
			for _, err := range a.Find(b.Context(), session.Search{Text: fmt.Sprintf("bicycle %07d", n/2)}) {
				if err != nil {
					b.Fatal(err)
				}
				found++
			}
			if found != 1 {
				b.Fatalf("got %d places, want 1", found)
			}
		}
	})
	b.ReportMetric(resident(), "MB")
}

// cpuTime is what this process has spent on processors.
func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// reportCPU reports the CPU of an operation since before: on a machine that others use, too,
// it says more than the time.
func reportCPU(b *testing.B, before time.Duration) {
	b.ReportMetric(float64((cpuTime()-before).Milliseconds())/float64(b.N), "cpu-ms/op")
}

// writeSessions writes sessions of one exchange each, as a host does.
func writeSessions(b *testing.B, cfg bus.Config, agent string, n int) {
	b.Helper()
	bb, err := natsserver.Open(b.Context(), bus.Options{Name: "test", Log: zerolog.Nop(), Config: cfg})
	if err != nil {
		b.Fatal(err)
	}
	defer bb.Close()
	ctx, cancel := context.WithCancel(b.Context())
	var publishes sync.WaitGroup
	defer publishes.Wait()
	defer cancel()
	if err := bb.Ready(ctx); err != nil {
		b.Fatal(err)
	}
	if err := streams.Provision(ctx, bb.JS, 1, 0, zerolog.Nop()); err != nil {
		b.Fatal(err)
	}
	publisher, err := publishing.New(bb.NC, zerolog.Nop())
	if err != nil {
		b.Fatal(err)
	}
	publishes.Go(func() { _ = publisher.Run(ctx) })
	store := &session.Store{
		Publisher: publisher, Reader: records.NewReader(bb.JS), Files: filestore.New(bb.JS), Limit: 512 << 10, Log: zerolog.Nop(),
	}
	var written sync.WaitGroup
	numbers := make(chan int)
	for range 16 {
		written.Go(func() {
			for i := range numbers {
				writeSession(b, store, agent, i)
			}
		})
	}
	for i := range n {
		numbers <- i
	}
	close(numbers)
	written.Wait()
}

func writeSession(b *testing.B, store *session.Store, agent string, i int) {
	l, err := store.Open(b.Context(), agent, session.DM("web", "", fmt.Sprint("u", i)))
	if err != nil {
		b.Error(err)
		return
	}
	say := func(role llm.Role, text string) run.Event {
		return run.Event{Type: run.MessageAdded, At: time.Now(), Message: &llm.Message{Role: role, Parts: []llm.Part{{Type: llm.Text, Text: text}}}}
	}
	done := make(chan error, 1)
	l.Add(b.Context(), []run.Event{
		say("user", fmt.Sprintf("Where is my bicycle %07d?", i)), say("assistant", "It is where you left it, behind the house."),
	}, func(err error) { done <- err })
	if err := <-done; err != nil {
		b.Error(err)
	}
}
