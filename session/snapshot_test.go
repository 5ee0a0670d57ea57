package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"
	"agenthost/session"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A darkroom sees the snapshots of the session as they are written.
type darkroom struct {
	t   testing.TB
	b   *bus.Bus
	s   *session.Store
	sub *nats.Subscription
}

func watchSnapshots(t testing.TB, b *bus.Bus, s *session.Store) *darkroom {
	t.Helper()
	sub, err := b.NC.SubscribeSync(snapshotSubject())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sub.Unsubscribe() }) // what was not looked at would hold the connection up
	return &darkroom{t, b, s, sub}
}

// next waits until a snapshot is stored and returns it as it was written.
func (d *darkroom) next() string {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), time.Minute)
	defer cancel()
	msg, err := d.sub.NextMsgWithContext(ctx)
	if err != nil {
		d.t.Fatalf("no snapshot: %v", err)
	}
	if err := d.s.Publisher.Flush(ctx); err != nil {
		d.t.Fatal(err)
	}
	return string(msg.Data)
}

// none checks that no snapshot was written so far.
func (d *darkroom) none() {
	d.t.Helper()
	if n, _, err := d.sub.Pending(); n > 0 || err != nil {
		d.t.Errorf("snapshots: got %d, %v, want none", n, err)
	}
}

// forget deletes the log before seq, so that only a snapshot can tell of it.
func (d *darkroom) forget(seq uint64) {
	d.t.Helper()
	if err := sessions(d.t, d.b).Purge(context.Background(), jetstream.WithPurgeSubject(logSubject()), jetstream.WithPurgeSequence(seq)); err != nil {
		d.t.Fatal(err)
	}
}

func seqOf(t testing.TB, snapshot string) uint64 {
	t.Helper()
	var s struct{ Seq uint64 }
	if err := json.Unmarshal([]byte(snapshot), &s); err != nil {
		t.Fatal(err)
	}
	return s.Seq
}

func TestSnapshotAfter64Commits(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	for range 63 {
		c.turn()
	}
	d.none()
	c.turn()
	if seq := seqOf(t, d.next()); seq != 64 {
		t.Errorf("snapshot: got it at %d, want 64", seq)
	}
	c.same()
	d.forget(64)
	c.same()
	for range 10 {
		c.turn()
	}
	c.same()
	again := c.reopen()
	for _, id := range []string{"in-r1", "in-r64", "in-r74"} {
		want, _ := c.Seen(id)
		if seq, ok := again.Seen(id); !ok || seq != want || seq == 0 {
			t.Errorf("%s: got %d, %t, want %d", id, seq, ok, want)
		}
	}
	if again.Replied() != c.Replied() {
		t.Errorf("Replied: got %d, want %d", again.Replied(), c.Replied())
	}
	for range 54 {
		again.turn()
	}
	if seq := seqOf(t, d.next()); seq <= 64 {
		t.Errorf("second snapshot: got it at %d, want it later", seq)
	}
	d.forget(sessions(t, b).CachedInfo().State.LastSeq - 2)
	again.same()
	if n, err := b.JS.Stream(t.Context(), bus.SessionsStream); err != nil {
		t.Error(err)
	} else if info, err := n.Info(t.Context(), jetstream.WithSubjectFilter(snapshotSubject())); err != nil || info.State.Subjects[snapshotSubject()] != 1 {
		t.Errorf("snapshots kept: got %d, %v, want 1", info.State.Subjects[snapshotSubject()], err)
	}
}

func TestSnapshotAtCompaction(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	c.turn()
	c.turn()
	d.none()
	if err := c.add(run.Event{Type: run.Compacted, At: epoch, Through: 2, Summary: "they met"}); err != nil {
		t.Fatal(err)
	}
	if seq := seqOf(t, d.next()); seq != 3 {
		t.Errorf("snapshot: got it at %d, want 3", seq)
	}
	d.forget(3)
	c.same()
	c.turn()
	c.same()
	d.none()
}

// A snapshot in the middle of a run takes the run along.
func TestSnapshotOfAnUnfinishedRun(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	c.send(attempt("r1", 1))
	c.send(join("r2", "and"))
	if err := c.add(run.Event{Type: run.Compacted, At: epoch, Through: 0, Summary: "nothing yet"}); err != nil {
		t.Fatal(err)
	}
	d.forget(seqOf(t, d.next()))
	again := c.reopen()
	again.send(use("a"))
	again.send(done("a"))
	again.send(say("done"))
	for _, id := range []string{"in-r1", "in-r2"} {
		if seq, ok := again.Seen(id); !ok || seq != again.Replied() {
			t.Errorf("%s: got %d, %t, want %d", id, seq, ok, again.Replied())
		}
	}
	again.same()
}

// A snapshot in the middle of a run remembers what has answered its questions: those have
// their end with the run.
func TestSnapshotOfARunWithAnswers(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	c.send(ask("r1", "go"))
	c.send(use("a", "b"))
	c.send(suspend("a"))
	c.send(suspend("b"))
	c.send(run.Signal{Kind: run.Answered, Call: "a", Answer: "red", Input: &run.Input{ID: "said", Subject: "plugin.inbound.web"}})
	c.send(run.Signal{Kind: run.Answered, Call: "b", Answer: "blue", Input: &run.Input{ID: "routed", Subject: "agent.route.bot"}})
	if err := c.add(run.Event{Type: run.Compacted, At: epoch, Through: 0, Summary: "nothing yet"}); err != nil {
		t.Fatal(err)
	}
	d.next()
	again := c.reopen()
	again.send(say("done"))
	for _, c := range []*talk{again, again.reopen()} {
		for _, id := range []string{"in-r1", "said", "routed"} {
			if seq, ok := c.Seen(id); !ok || seq != again.Replied() {
				t.Errorf("%s: got %d, %t, want %d", id, seq, ok, again.Replied())
			}
		}
		if c.RepliedAt().IsZero() {
			t.Error("it is forgotten that another lane has brought an answer")
		}
	}
	if err := again.add(run.Event{Type: run.Compacted, At: epoch, Through: 0, Summary: "nothing yet"}); err != nil {
		t.Fatal(err)
	}
	d.next()
	v, err := archive(b).Verify(t.Context(), "bot", session.SID("bot", ana))
	if err != nil || !v.Snapshot || len(v.Defects) > 0 {
		t.Errorf("got %+v, %v, want no defects", v, err)
	}
}

// A host of before forgot them: its snapshots, and those that follow, are sound.
func TestSnapshotOfBeforeForgetsAnswers(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	snapshot := func(c *talk) string {
		t.Helper()
		if err := c.add(run.Event{Type: run.Compacted, At: epoch, Through: 0, Summary: "nothing yet"}); err != nil {
			t.Fatal(err)
		}
		return d.next()
	}
	c.send(ask("r1", "go"))
	c.send(use("a"))
	c.send(suspend("a"))
	c.send(run.Signal{Kind: run.Answered, Call: "a", Answer: "red", Input: &run.Input{ID: "said", Subject: "agent.route.bot"}})
	now := snapshot(c)
	before := strings.Replace(now, `"answers":["said"],"brought":true,`, "", 1)
	if before == now {
		t.Fatalf("the snapshot remembers none either: %s", now)
	}
	sound := func() {
		t.Helper()
		v, err := archive(b).Verify(t.Context(), "bot", session.SID("bot", ana))
		if err != nil || !v.Snapshot || len(v.Defects) > 0 {
			t.Errorf("got %+v, %v, want no defects", v, err)
		}
	}
	put(t, b, snapshotSubject(), before)
	d.next()
	sound()
	again := c.reopen()
	again.send(say("done"))
	if got := snapshot(again); !strings.Contains(got, `"said","seq":0`) {
		t.Fatalf("it has not forgotten: %s", got)
	}
	sound()
}

// What is added while a commit of the run is owed is in the log before it;
// no snapshot is taken of what the log does not have yet.
func TestAddWhileACommitIsOwed(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	if err := c.add(waiting("first")); err != nil { // so that it is with an addition that a snapshot is due
		t.Fatal(err)
	}
	for i := range 16 {
		owed := c.step(attempt(fmt.Sprint("r", i), 1))
		if err := c.add(waiting(fmt.Sprint("m", i))); err != nil {
			t.Fatal(err)
		}
		d.none()
		for _, e := range owed {
			if err := c.commit(e); err != nil {
				t.Fatal(err)
			}
		}
		owed = c.step(say("hello"))
		if err := c.add(waiting(fmt.Sprint("n", i))); err != nil {
			t.Fatal(err)
		}
		for _, e := range owed {
			if err := c.commit(e); err != nil {
				t.Fatal(err)
			}
		}
	}
	snapped := d.next()
	c.same() // by the snapshot
	whole := c.encoded()
	if err := sessions(t, b).Purge(t.Context(), jetstream.WithPurgeSubject(snapshotSubject())); err != nil {
		t.Fatal(err)
	}
	if got := c.reopen().encoded(); got != whole {
		t.Errorf("by the log alone\n got %s\nwant %s", got, whole)
	}
	put(t, b, snapshotSubject(), snapped)
	d.forget(seqOf(t, snapped))
	if got := c.reopen().encoded(); got != whole {
		t.Errorf("by the snapshot and the tail\n got %s\nwant %s", got, whole)
	}
}

func TestLargeCommitsAndSnapshots(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	s.Limit = 4 << 10
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	c.send(ask("r1", strings.Repeat("long ", 2000)))
	c.send(say(strings.Repeat("longer ", 3000)))
	rec, err := s.Reader.Last(t.Context(), bus.SessionsStream, logSubject())
	if err != nil || len(rec.Data) > s.Limit || !strings.Contains(string(rec.Data), `"object":"`) || strings.Contains(string(rec.Data), `"events"`) {
		t.Errorf("got %s, %v, want a reference", rec.Data, err)
	}
	c.same()
	if said, err := s.Said(t.Context(), c.Replied()); err != nil || len(said.Replies) != 1 {
		t.Errorf("replies: got %+v, %v, want one", said, err)
	}
	if err := c.add(run.Event{Type: run.Compacted, At: epoch, Summary: "s"}); err != nil {
		t.Fatal(err)
	}
	snapped := d.next()
	if len(snapped) > s.Limit || !strings.Contains(snapped, `"object":"`) {
		t.Errorf("snapshot: got %s, want a reference", snapped)
	}
	d.forget(seqOf(t, snapped))
	c.same()
	c.turn()
	c.same()
}

// A snapshot that cannot be written costs only time.
func TestSnapshotThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	warned := make(chan string, 10)
	s.Log = s.Log.Output(lines(warned)).Level(0)
	s.Limit = 900
	if err := b.JS.DeleteObjectStore(t.Context(), bus.FilesBucket); err != nil {
		t.Fatal(err)
	}
	c := openTalk(t, s)
	for range 20 { // each commit is below the limit, the state is not
		c.turn()
	}
	if err := c.add(run.Event{Type: run.Compacted, At: epoch, Summary: "s"}); err != nil {
		t.Fatal(err)
	}
	if line := <-warned; !strings.Contains(line, "write snapshot") || !strings.Contains(line, "store file") {
		t.Errorf("logged %s, want it to tell of the snapshot", line)
	}
	c.same()
}

// lines hands each line of a log to a channel.
type lines chan<- string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// A snapshot that is ahead of its log is another log's.
func TestSnapshotAheadOfItsLog(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	c := openTalk(t, s)
	c.turn()
	put(t, b, snapshotSubject(), `{"v":1,"seq":99,"state":{"phase":"faulted"}}`)
	c.same()
}

// A log that ends before it should has lost something.
func TestOpenMissesTheEnd(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	c := openTalk(t, s)
	c.turn()
	if err := sessions(t, b).DeleteMsg(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reader.Last(t.Context(), bus.SessionsStream, logSubject()); !errors.Is(err, records.ErrNotFound) {
		t.Fatal(err)
	}
	if again := c.reopen(); again.State().Phase != run.Idle {
		t.Errorf("a log that was deleted: got %s, want a new session", again.encoded())
	}
}

// A large snapshot leaves nothing behind when the next one is written, and who
// came for the old one finds the new one.
func TestLargeSnapshotsAreReplaced(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	s.Limit = 4 << 10
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	c.send(ask("r1", strings.Repeat("long ", 2000)))
	c.send(say("short"))
	var objects []string
	for i := range 3 {
		if err := c.add(run.Event{Type: run.Compacted, At: epoch, Summary: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
		objects = append(objects, objectOf(t, d.next()))
		c.same()
	}
	for i, object := range objects[:2] {
		for { // it goes beside, within the time of the test
			if _, err := s.Files.Get(t.Context(), object); errors.Is(err, jetstream.ErrObjectNotFound) {
				break
			} else if err != nil {
				t.Fatalf("snapshot %d: got %v, want it gone", i, err)
			}
		}
	}
	if _, err := s.Files.Get(t.Context(), objects[2]); err != nil {
		t.Error(err)
	}
}

func objectOf(t testing.TB, snapshot string) string {
	t.Helper()
	var s struct{ Object string }
	if err := json.Unmarshal([]byte(snapshot), &s); err != nil || s.Object == "" {
		t.Fatalf("got %s, %v, want a reference", snapshot, err)
	}
	return s.Object
}

// A session of many turns writes a snapshot when it has as many again, or up to half
// as many more.
func TestSnapshotsOfManyTurns(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	turns := func(n int) {
		for c.turns < n {
			c.turn()
		}
	}
	last := 0
	for range 4 {
		soonest := max(64, 2*last)
		latest := soonest
		if last > 64 {
			latest += last / 2
		}
		turns(soonest - 1)
		d.none()
		turns(latest)
		if last = strings.Count(d.next(), `"role":"assistant"`); last < soonest || last > latest {
			t.Errorf("snapshot: got it after %d turns, want %d to %d", last, soonest, latest)
		}
		c = c.reopen() // the next one to open the session goes on in the same way
	}
	c.same()
}

// A session that remembers much writes a snapshot less often, by its bytes.
func TestSnapshotsCostTheirShare(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	c.send(ask("r0", strings.Repeat("long ", 400_000/5)))
	c.send(say("short"))
	for range 63 {
		c.turn()
	}
	first := d.next() // nothing was kept before: it comes after 64
	for range 70 {
		c.turn()
	}
	d.none()
	for range 64 * 12 {
		c.turn()
	}
	if second := d.next(); seqOf(t, second) <= seqOf(t, first)+70 {
		t.Errorf("second snapshot: got it at %d, want it later", seqOf(t, second))
	}
	c.same()
}

// No message comes again for what waited in the log: that its run has replied, and when, is
// remembered, also by a snapshot that is made before another host looks.
func TestReplyToWhatWaitedInTheLogIsRemembered(t *testing.T) {
	t.Parallel()
	b, s := open(t)
	d := watchSnapshots(t, b, s)
	c := openTalk(t, s)
	c.turn()
	if at := c.RepliedAt(); !at.IsZero() {
		t.Errorf("of a message that comes again: got %v", at)
	}
	waiting := input("in-late")
	if err := c.add(run.Event{Type: run.InputAdded, At: epoch, Input: &waiting}); err != nil {
		t.Fatal(err)
	}
	c.send(ask("late", "hello"))
	c.send(say("hello yourself"))
	want := c.RepliedAt()
	if want.IsZero() {
		t.Fatal("it is forgotten at once")
	}
	if got := c.reopen().RepliedAt(); !got.Equal(want) {
		t.Errorf("from the log: got %v, want %v", got, want)
	}
	if err := c.add(run.Event{Type: run.Compacted, At: epoch, Through: 0, Summary: "nothing yet"}); err != nil {
		t.Fatal(err)
	}
	d.next()
	again := c.reopen()
	if got := again.RepliedAt(); !got.Equal(want) {
		t.Errorf("from a snapshot: got %v, want %v", got, want)
	}
	if v, err := archive(b).Verify(t.Context(), "bot", session.SID("bot", ana)); err != nil || !v.Snapshot || len(v.Defects) > 0 {
		t.Errorf("got %+v, %v, want no defects", v, err)
	}
	again.turn()
	if at := again.RepliedAt(); !at.IsZero() {
		t.Errorf("after another: got %v", at)
	}
}
