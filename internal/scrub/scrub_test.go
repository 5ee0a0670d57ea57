package scrub_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
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
		"what is no commit": {func(f fleet, _ jetstream.Stream) error {
			_, err := f.js.Publish(f.t.Context(), session.Subject("ana", session.SID("ana", "web/dm/u1")), []byte("garbage"))
			return err
		}, []string{"log-unreadable message 31: this is no commit: invalid character 'g' looking for beginning of value; hosts pass it over"}},
		"not a snapshot": {func(f fleet, _ jetstream.Stream) error {
			_, err := f.js.Publish(f.t.Context(), "agent.snapshot.ana."+session.SID("ana", "web/dm/u1"), []byte(`{"v":1}`))
			return err
		}, []string{"snapshot-unreadable this is no snapshot that this program can read: 31: it names no commit"}},
		"a log that is missing": {func(f fleet, stream jetstream.Stream) error {
			_, err := f.js.Publish(f.t.Context(), "agent.snapshot.ana."+session.SID("ana", "web/dm/gone"), []byte(`{"v":1,"key":"web/dm/gone","seq":3}`))
			return err
		}, []string{"snapshot-alone there is a snapshot and no log: the log is lost, or the session was deleted while its snapshot was written"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
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

// reply stores what a run has said in a session.
func (f fleet) reply(key session.Key, run, id, kind string, at time.Time) {
	f.t.Helper()
	data := fmt.Sprintf(`{"id":%q,"agent":"ana","session":%q,"run":%q,"kind":%q,"to":"u","text":"hi","final":true,"sent_at":%q}`,
		id, key, run, kind, at.UTC().Format(time.RFC3339Nano))
	bustest.Publish(f.t, f.js, "plugin.outbound.web", data)
}

// A file that was damaged can have lost whole sessions.
func TestLostLogs(t *testing.T) {
	t.Parallel()
	lostLogs(t, func(data []byte) []byte { clear(data[:2000]); return data })
}

// lostLogs damages the logs of a store. Of the sessions that it has lost those are to be found that
// have replied, and no other: not those that were deleted, nor what no session has said.
func lostLogs(t *testing.T, change func([]byte) []byte) {
	t.Helper()
	cfg := bustest.Config(t)
	b := bustest.OpenConfig(t, cfg)
	f := provisioned(t, b, 1)
	f.sessions(20)
	now := time.Now()
	for i := range 20 {
		f.reply(session.DM("web", "", fmt.Sprint("u", i)), "r1", "r1.1", bus.KindReply, now)
	}
	deleted := session.DM("web", "", "deleted")
	f.commit("ana", deleted, 0, "hello")
	f.reply(deleted, "r1", "r1.1", bus.KindReply, now)
	if _, err := session.NewArchive(b.JS).Delete(t.Context(), "ana", session.SID("ana", deleted), true); err != nil {
		t.Fatal(err)
	}
	f.reply("web/dm/old", "r1", "r1.1", bus.KindReply, now.Add(-bus.RequestsAge))
	f.reply("web/dm/stranger", "", "r1.1", bus.KindReply, now)
	f.reply("web/dm/approver", "ana:AGENT_INBOUND:7:approver", "ana:AGENT_INBOUND:7:approver.1", bus.KindReply, now)
	f.reply("web/dm/notified", "r1", "ana.x.y:z", bus.KindReply, now)
	f.reply("web/dm/asked", "r1", "r1.1", bus.KindApproval, now)
	if r := run(t, b.JS); !r.Clean() || r.Sessions != 20 {
		t.Fatalf("before: %+v", r)
	}
	b.Close()
	damage(t, cfg.Embedded.Store, bus.SessionsStream, change)
	r, err := scrub.Run(t.Context(), bustest.OpenConfig(t, cfg).JS, scrub.Options{Retry: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	lost := 0
	for _, found := range r.Findings {
		if found.Kind == scrub.LogMissing {
			lost++
		}
	}
	if lost == 0 || lost != 20-r.Sessions {
		t.Errorf("%d of 20 sessions are left, and %d are reported as lost: %q", r.Sessions, lost, what(r))
	}
}

// A stream of which the description is damaged is not there for NATS, with all that is in it.
func TestStreamThatIsGone(t *testing.T) {
	t.Parallel()
	cfg := bustest.Config(t)
	b := bustest.OpenConfig(t, cfg)
	provisioned(t, b, 1).sessions(3)
	b.Close()
	found, err := filepath.Glob(filepath.Join(cfg.Embedded.Store, "jetstream", "*", "streams", bus.SessionsStream, "meta.inf"))
	if err != nil || len(found) != 1 {
		t.Fatalf("meta.inf: %q, %v", found, err)
	}
	if err := os.WriteFile(found[0], []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := scrub.Run(t.Context(), bustest.OpenConfig(t, cfg).JS, scrub.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"stream-missing AGENT_SESSIONS  0"}, aboutCopies(r)); diff != "" {
		t.Error(diff)
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
