//go:build long

package scrub_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/internal/scrub"
	"agenthost/internal/waittest"
)

// Damage to one of three copies is found, and nothing else.
func TestReplicas(t *testing.T) {
	c := bustest.StartCluster(t)
	b := bustest.OpenConfig(t, bus.Config{URL: c.URL(0)})
	f := provisioned(t, b, 3)
	c.Settle() // while a stream changes its leader, a commit may be refused
	f.sessions(100)
	bucket, err := b.JS.KeyValue(t.Context(), bus.MemoryBucket)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if _, err := bucket.PutString(t.Context(), fmt.Sprint("k", i), "v"); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 {
		bustest.Publish(t, b.JS, "agent.route.ana", fmt.Sprint("a task of some length ", i))
		bustest.Publish(t, b.JS, "agent.dead.ana", fmt.Sprint("a letter of some length ", i))
	}
	c.Settle()

	t.Run("clean", func(t *testing.T) {
		r := run(t, b.JS)
		if !r.Clean() {
			t.Errorf("got %q, want nothing", what(r))
		}
		if r.Sessions != 100 || r.Commits != 300 {
			t.Errorf("got %d sessions, %d commits, want 100 and 300", r.Sessions, r.Commits)
		}
		servers := []string{c.Name(0), c.Name(1), c.Name(2)}
		for _, s := range r.Streams {
			if diff := cmp.Diff(servers, s.Servers); diff != "" || s.Replicas != 3 {
				t.Errorf("%s: %d replicas, servers %s", s.Name, s.Replicas, diff)
			}
		}
	})
	t.Run("written to meanwhile", func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var writing sync.WaitGroup
		writing.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, _ = bucket.PutString(ctx, fmt.Sprint("k", i%20), "w")
				_, _ = b.JS.Publish(ctx, "agent.events.ana.x", []byte("e"))
			}
		})
		r := run(t, b.JS)
		stop()
		writing.Wait()
		if !r.Clean() {
			t.Errorf("got %q, want nothing", what(r))
		}
	})
	t.Run("lost on one server", func(t *testing.T) {
		kv := "KV_" + bus.MemoryBucket
		seq := last(t, b.JS, kv)
		c.Settle()
		c.Lose(1, bus.SessionsStream, 100)
		c.Lose(1, bus.SessionsStream, 150)
		c.Lose(1, kv, seq)
		want := []string{
			"message-missing AGENT_SESSIONS nats-1 100", "message-missing AGENT_SESSIONS nats-1 150",
			fmt.Sprintf("message-missing %s nats-1 %d", kv, seq),
		}
		if diff := cmp.Diff(want, aboutCopies(run(t, b.JS))); diff != "" {
			t.Error(diff)
		}
	})
	if os.Getenv("AGENTHOST_CHAOS") != "1" { // the rest takes a minute: the CI does it
		return
	}
	t.Run("damaged files", func(t *testing.T) {
		c.Stop(1)
		damage(t, c.Store(1), bus.RoutesStream, func(data []byte) []byte {
			data[len(data)/2] ^= 4
			return data
		})
		damage(t, c.Store(1), bus.DeadStream, func(data []byte) []byte { return data[:len(data)/2] }) // NATS repairs this
		c.Start(1)
		c.Settle()
		flipped := slices.ContainsFunc(run(t, b.JS).Findings, func(f scrub.Finding) bool {
			return f.Kind == scrub.MessageMissing && f.Stream == bus.RoutesStream && f.Server == c.Name(1) && f.Seq > 1
		})
		if !flipped {
			t.Errorf("got %q, want messages of %s that are missing on %s", aboutCopies(run(t, b.JS)), bus.RoutesStream, c.Name(1))
		}
	})
	t.Run("copied again", func(t *testing.T) { // as docs/reliability.md says
		c.Stop(1)
		if err := os.RemoveAll(filepath.Join(c.Store(1), "jetstream")); err != nil {
			t.Fatal(err)
		}
		c.Start(1)
		c.Settle()
		waittest.Until(t, "all copies are the same", func() bool {
			r := run(t, b.JS)
			t.Logf("found: %q", what(r))
			return r.Clean()
		})
	})
	t.Run("stopped", func(t *testing.T) {
		c.Stop(2)
		found := run(t, b.JS).Findings
		for _, name := range []string{bus.SessionsStream, "KV_" + bus.MemoryBucket} {
			if !slices.ContainsFunc(found, func(f scrub.Finding) bool {
				return f.Kind == scrub.ReplicaMissing && f.Stream == name && f.Server == c.Name(2)
			}) {
				t.Errorf("%s: the copy of %s is not missing: %+v", name, c.Name(2), found)
			}
		}
		f.commit("ana", "web/dm/late", 0, "two of three are enough")
	})
}

// Of a block that lacks some bytes NATS knows messages that it cannot read: to list them takes ten
// seconds.
func TestLostLogsOfACutBlock(t *testing.T) {
	t.Parallel()
	lostLogs(t, func(data []byte) []byte { return slices.Delete(data, len(data)/2, len(data)/2+200) })
}
