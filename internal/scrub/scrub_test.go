package scrub_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/bustest"
	"agenthost/bus/streams"
	"agenthost/internal/scrub"
	"agenthost/internal/waittest"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A fleet is what a fleet has stored.
type fleet struct {
	t  testing.TB
	js jetstream.JetStream
}

// commit appends a commit to the log of a session and returns its sequence.
func (f fleet) commit(agent string, key session.Key, after uint64, text string) uint64 {
	f.t.Helper()
	msg := nats.NewMsg(session.Subject(agent, session.SID(agent, key)))
	msg.Data = fmt.Appendf(nil, `{"v":1,"key":%q,"events":[{"type":"message","message":{"role":"user","parts":[{"text":%q}]}}]}`, key, text)
	msg.Header.Set(jetstream.ExpectedLastSubjSeqHeader, strconv.FormatUint(after, 10))
	var seq uint64
	waittest.Until(f.t, "a commit is stored", func() bool {
		ack, err := f.js.PublishMsg(f.t.Context(), msg)
		if err == nil {
			seq = ack.Sequence
			return true
		}
		// A cluster may refuse it while a leader changes, or have stored it unsaid.
		stream, err := f.js.Stream(f.t.Context(), bus.SessionsStream)
		if err != nil {
			f.t.Fatal(err)
		}
		stored, err := stream.GetLastMsgForSubject(f.t.Context(), msg.Subject)
		if err != nil && !errors.Is(err, jetstream.ErrMsgNotFound) {
			f.t.Fatal(err)
		}
		if err == nil && stored.Sequence > after {
			seq = stored.Sequence
		}
		return seq > 0
	})
	return seq
}

// sessions writes so many sessions of three commits each.
func (f fleet) sessions(n int) (last uint64) {
	f.t.Helper()
	for i := range n {
		last = 0
		for range 3 {
			last = f.commit("ana", session.DM("web", "", fmt.Sprint("u", i)), last, fmt.Sprint("hello ", last))
		}
	}
	return last
}

func run(t *testing.T, js jetstream.JetStream) scrub.Report {
	t.Helper()
	told := false
	r, err := scrub.Run(t.Context(), js, scrub.Options{Retry: 200 * time.Millisecond, Progress: func(p scrub.Progress) {
		told = true
		if p.Done > p.All || p.What == "" {
			t.Errorf("progress: got %+v", p)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !told {
		t.Error("no progress was told")
	}
	return r
}

// what is found, in short.
func what(r scrub.Report) (list []string) {
	for _, f := range r.Findings {
		list = append(list, f.Kind+" "+f.Text)
	}
	return list
}

func provisioned(t *testing.T, b *bus.Bus, replicas int) fleet {
	t.Helper()
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := streams.Provision(t.Context(), b.JS, replicas, 0, bustest.Log(t)); err != nil {
		t.Fatal(err)
	}
	return fleet{t, b.JS}
}

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

// aboutCopies are the findings about copies, in short. Which copy the logs were read from
// is chance.
func aboutCopies(r scrub.Report) (list []string) {
	for _, f := range r.Findings {
		if f.Agent == "" {
			list = append(list, fmt.Sprintf("%s %s %s %d", f.Kind, f.Stream, f.Server, f.Seq))
		}
	}
	return list
}

func last(t *testing.T, js jetstream.JetStream, stream string) uint64 {
	t.Helper()
	s, err := js.Stream(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.LastSeq
}

// damage changes the first block of a stream in the store of a stopped server.
func damage(t *testing.T, store, stream string, change func([]byte) []byte) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(store, "jetstream", "*", "streams", stream, "msgs", "*"))
	if err != nil || len(found) == 0 {
		t.Fatalf("blocks of %s: %q, %v", stream, found, err)
	}
	for _, file := range found {
		if filepath.Ext(file) != ".blk" {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, change(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestOneReplica(t *testing.T) {
	tests := map[string]struct {
		plant func(f fleet, stream jetstream.Stream) error
		want  []string
	}{
		"nothing": {func(fleet, jetstream.Stream) error { return nil }, nil},
		"a commit that is missing": {
			func(f fleet, stream jetstream.Stream) error { return stream.DeleteMsg(f.t.Context(), 5) },
			[]string{"log-gap commit 6 was written after commit 5, and follows 4: what was between them is missing"},
		},
		"a log that is missing": {func(f fleet, stream jetstream.Stream) error {
			_, err := f.js.Publish(f.t.Context(), "agent.snapshot.ana."+session.SID("ana", "web/dm/gone"), []byte(`{"v":1,"key":"web/dm/gone","seq":3}`))
			return err
		}, []string{"snapshot-alone there is a snapshot and no log: the log is lost, or the session was deleted while its snapshot was written"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b := bustest.Open(t)
			f := provisioned(t, b, 1)
			f.sessions(10)
			stream, err := b.JS.Stream(t.Context(), bus.SessionsStream)
			if err != nil {
				t.Fatal(err)
			}
			if err := tt.plant(f, stream); err != nil {
				t.Fatal(err)
			}
			r := run(t, b.JS)
			if diff := cmp.Diff(tt.want, what(r)); diff != "" {
				t.Error(diff)
			}
			if r.Clean() != (tt.want == nil) || r.Sessions != 10 {
				t.Errorf("got %d sessions, clean %t", r.Sessions, r.Clean())
			}
			for _, s := range r.Streams {
				if s.Replicas != 1 || s.Servers != nil {
					t.Errorf("%s: got %d replicas on %q, want one that is not compared", s.Name, s.Replicas, s.Servers)
				}
			}
		})
	}
}

func TestNothingToScrub(t *testing.T) {
	b := bustest.Open(t)
	if err := b.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err := scrub.Run(t.Context(), b.JS, scrub.Options{})
	bustest.WantError(t, err, "nothing to scrub")
}
