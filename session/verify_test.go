package session_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"agenthost/bus"
	"agenthost/run"
	"agenthost/session"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"
)

// What hosts write has no defects, whatever way a session went.
func TestVerifySound(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	a := archive(b)
	snapshots := 0
	for seed := range uint64(20) {
		key := session.DM("web", "", fmt.Sprint("person", seed))
		c := openKey(t, s, key)
		lim := run.Limits{ModelCalls: 6, Tools: 2, Keep: 2, Safe: func(tool string) bool { return tool == "b" }}
		r := rand.New(rand.NewPCG(seed, 7))
		if seed%2 == 0 {
			lim.Window = 300
		}
		for n := range 250 {
			if r.IntN(25) == 0 { // the host dies
				c.Log = openKey(t, s, key).Log
				if left := c.State(); left.Run != nil && left.Phase != run.InSuspense {
					c.sendWithin(run.Signal{Kind: run.Submit, Run: left.Run.ID, Attempt: max(left.Run.Attempt, 1) + 1}, lim)
				}
			}
			c.sendWithin(anySignal(r, c.State(), n), lim)
		}
		if err := s.Publisher.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		v, err := a.Verify(t.Context(), "bot", session.SID("bot", key))
		if err != nil || len(v.Defects) > 0 || v.Commits == 0 {
			t.Errorf("session %d: got %+v, %v, want no defects", seed, v, err)
		}
		if v.Snapshot {
			snapshots++
		}
	}
	if snapshots == 0 {
		t.Error("no session had a snapshot to compare")
	}
}

// A host of before counts no inputs that join a run. Its snapshots are sound.
func TestVerifySnapshotOfBefore(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	for range 61 { // the next snapshot is due three commits from here
		c.turn()
	}
	c.send(ask("r", "go"))
	c.send(use("a"))
	c.send(join("r0", "quick"))
	c.send(done("a"))
	c.send(use("b"))
	d.next()
	msg, err := sessions(t, b).GetLastMsgForSubject(t.Context(), snapshotSubject())
	if err != nil {
		t.Fatal(err)
	}
	before := strings.Replace(string(msg.Data), `"joined":1,`, "", 1)
	if before == string(msg.Data) {
		t.Fatal("the snapshot counts none either")
	}
	if _, err := b.JS.Publish(t.Context(), snapshotSubject(), []byte(before)); err != nil {
		t.Fatal(err)
	}
	v, err := archive(b).Verify(t.Context(), "bot", session.SID("bot", ana))
	if err != nil || !v.Snapshot || len(v.Defects) > 0 {
		t.Errorf("got %+v, %v, want no defects", v, err)
	}
}

func TestVerifySoundAfterForkAndDeletion(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	a := archive(b)
	c := openTalk(t, s)
	for range 70 {
		c.turn()
	}
	sid := session.SID("bot", ana)
	fork, err := a.Fork(t.Context(), session.Forking{Agent: "bot", SID: sid})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Delete(t.Context(), "bot", sid, false); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Verify(t.Context(), "bot", sid); !errors.Is(err, session.ErrNoSession) {
		t.Errorf("deleted: got %v, want %v", err, session.ErrNoSession)
	}
	openTalk(t, s).turn()
	for _, sid := range []string{sid, fork.SID} {
		if v, err := a.Verify(t.Context(), "bot", sid); err != nil || len(v.Defects) > 0 {
			t.Errorf("%s: got %+v, %v, want no defects", sid, v, err)
		}
	}
}

func TestVerifyFinds(t *testing.T) {
	t.Parallel()
	const turns = 70
	tests := map[string]struct {
		plant func(t *testing.T, b *bus.Bus, stream jetstream.Stream)
		want  []session.DefectKind
	}{
		"nothing": {func(*testing.T, *bus.Bus, jetstream.Stream) {}, nil},
		"a commit that is missing": {func(t *testing.T, _ *bus.Bus, stream jetstream.Stream) {
			remove(t, stream, 20)
		}, []session.DefectKind{session.LogGap}},
		"a beginning that is missing": {func(t *testing.T, _ *bus.Bus, stream jetstream.Stream) {
			remove(t, stream, 1)
		}, []session.DefectKind{session.LogGap}},
		"an end that is missing": {func(t *testing.T, _ *bus.Bus, stream jetstream.Stream) {
			for seq := uint64(64); seq <= turns+1; seq++ {
				if msg, err := stream.GetMsg(t.Context(), seq); err == nil && strings.HasPrefix(msg.Subject, "agent.session.") {
					remove(t, stream, seq)
				}
			}
		}, []session.DefectKind{session.SnapshotAhead}},
		"a snapshot that is another's": {func(t *testing.T, b *bus.Bus, stream jetstream.Stream) {
			msg, err := stream.GetLastMsgForSubject(t.Context(), snapshotSubject())
			if err != nil {
				t.Fatal(err)
			}
			changed := strings.Replace(string(msg.Data), "in-r3", "in-r0", 1)
			if changed == string(msg.Data) {
				t.Fatal("the snapshot has no id in-r3")
			}
			if _, err := b.JS.Publish(t.Context(), snapshotSubject(), []byte(changed)); err != nil {
				t.Fatal(err)
			}
		}, []session.DefectKind{session.SnapshotDiffers}},
		"a snapshot that is none": {func(t *testing.T, b *bus.Bus, _ jetstream.Stream) {
			if _, err := b.JS.Publish(t.Context(), snapshotSubject(), []byte("{")); err != nil {
				t.Fatal(err)
			}
		}, []session.DefectKind{session.SnapshotUnreadable}},
		"a commit whose file is missing": {func(t *testing.T, b *bus.Bus, _ jetstream.Stream) {
			if _, err := b.JS.Publish(t.Context(), logSubject(), []byte(`{"v":1,"key":"web/dm/ana","object":"gone"}`)); err != nil {
				t.Fatal(err)
			}
		}, []session.DefectKind{session.LogUnreadable}},
		"what no host has written": {func(t *testing.T, b *bus.Bus, _ jetstream.Stream) {
			if _, err := b.JS.Publish(t.Context(), logSubject(), []byte(`hello`)); err != nil {
				t.Fatal(err)
			}
		}, []session.DefectKind{session.LogUnreadable}},
		"a snapshot of no commit": {func(t *testing.T, b *bus.Bus, _ jetstream.Stream) {
			if _, err := b.JS.Publish(t.Context(), snapshotSubject(), []byte(`{"v":1}`)); err != nil {
				t.Fatal(err)
			}
		}, []session.DefectKind{session.SnapshotUnreadable}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			b, s := open(t)
			d := watchSnapshots(t, b, s)
			c := openTalk(t, s)
			for range turns {
				c.turn()
			}
			d.next()
			tt.plant(t, b, sessions(t, b))
			v, err := archive(b).Verify(t.Context(), "bot", session.SID("bot", ana))
			if err != nil {
				t.Fatal(err)
			}
			var got []session.DefectKind
			for _, d := range v.Defects {
				got = append(got, d.Kind)
				if d.Text == "" {
					t.Errorf("%s without words", d.Kind)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("%s\n%+v", diff, v.Defects)
			}
		})
	}
}

func remove(t *testing.T, stream jetstream.Stream, seq uint64) {
	t.Helper()
	if err := stream.DeleteMsg(t.Context(), seq); err != nil {
		t.Fatalf("message %d: %v", seq, err)
	}
}
