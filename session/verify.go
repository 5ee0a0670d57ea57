package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Defect is one thing that is wrong with a stored session.
type Defect struct {
	Kind DefectKind
	Seq  uint64 // of the commit or the snapshot
	Text string
}

// A DefectKind is a class of defects.
type DefectKind string

// The kinds of defects.
const (
	LogGap             DefectKind = "log-gap"             // a commit is missing
	LogUnreadable      DefectKind = "log-unreadable"      // a commit cannot be decoded or folded, or the message is not a commit
	SnapshotUnreadable DefectKind = "snapshot-unreadable" // hosts read the whole log instead
	SnapshotDiffers    DefectKind = "snapshot-differs"    // from the fold of the commits up to it
	SnapshotAhead      DefectKind = "snapshot-ahead"      // of the end of the log
)

// A Verification is what Verify has read and found.
type Verification struct {
	Commits  int
	Snapshot bool // there is one, and it was compared
	Defects  []Defect
}

// Verify reads all of a stored session: each commit has to follow the one that it was
// fenced by, the log has to fold, and the snapshot has to equal the fold of what it
// stands for. A session that is written to meanwhile can show defects that it does
// not have: those that a second call does not find. The error is ErrNoSession where
// there is no log.
func (a *Archive) Verify(ctx context.Context, agent, sid string) (Verification, error) {
	w := verifier{answers: map[string]bool{}, log: &Log{
		store: a.store, subject: Subject(agent, sid), snapSubject: snapshotSubject(agent, sid),
		state: run.State{Phase: run.Idle},
	}}
	if err := w.readSnapshot(ctx); err != nil { // before the log, which may grow meanwhile
		return w.found, fmt.Errorf("verify session %s of %s: %w", sid, agent, err)
	}
	for rec, err := range a.store.Reader.Tail(ctx, bus.SessionsStream, w.log.subject, 1) {
		if err == nil {
			err = w.commit(ctx, rec)
		}
		if err != nil {
			return w.found, fmt.Errorf("verify session %s of %s: %w", sid, agent, err)
		}
	}
	if w.last == 0 {
		return w.found, fmt.Errorf("session %s of %s: %w", sid, agent, ErrNoSession)
	}
	w.snapshotInLog()
	return w.found, nil
}

// A verifier is one Verify.
type verifier struct {
	log         *Log
	snap        *snapshot       // nil: there is none
	first, last uint64          // sequences of the log
	lost        bool            // the fold is not that of the whole log
	answers     map[string]bool // the ids that were those of answers to an unfinished run
	found       Verification
}

func (w *verifier) defect(kind DefectKind, seq uint64, format string, args ...any) {
	w.found.Defects = append(w.found.Defects, Defect{kind, seq, fmt.Sprintf(format, args...)})
}

func (w *verifier) readSnapshot(ctx context.Context) error {
	snap, _, err := w.log.readSnapshot(ctx)
	switch {
	case err == nil:
		w.snap = &snap
	case errors.Is(err, records.ErrNotFound):
	case errors.Is(err, errNoSnapshot), errors.Is(err, jetstream.ErrObjectNotFound):
		w.defect(SnapshotUnreadable, snap.Seq, "%v", err)
	default:
		return err
	}
	return nil
}

// commit verifies one message of the log and folds it.
func (w *verifier) commit(ctx context.Context, rec records.Record) error {
	w.follows(rec)
	if rec.Header.Get(replacesHeader) != "" {
		w.log.restart()
		w.lost = false
	}
	if w.first == 0 {
		w.first = rec.Seq
	}
	w.last = rec.Seq
	c, err := w.log.store.decode(ctx, rec)
	switch {
	case errors.Is(err, errForeign): // the fold is without it
		w.defect(LogUnreadable, rec.Seq, "message %d: %v; hosts pass it over", rec.Seq, err)
		return nil
	case ctx.Err() != nil, errors.Is(err, nats.ErrConnectionClosed):
		return err
	case err != nil:
		w.defect(LogUnreadable, rec.Seq, "commit %d: %v", rec.Seq, err)
		w.lost = true
		return nil
	}
	w.found.Commits++
	if w.log.key == "" {
		w.log.key = c.Key
	}
	if err := w.fold(rec, c.Events); err != nil {
		w.defect(LogUnreadable, rec.Seq, "commit %d: %v", rec.Seq, err)
		w.lost = true
	}
	if w.snap != nil && w.snap.Seq == rec.Seq && !w.lost {
		return w.compare()
	}
	return nil
}

// follows verifies that the message before is the one that this commit was fenced by.
// One that takes the place of all that was before it follows nothing.
func (w *verifier) follows(rec records.Record) {
	expected, err := strconv.ParseUint(rec.Header.Get(expectedLastSubjectSequence), 10, 64)
	if err != nil || expected == w.last || begins(rec) {
		return
	}
	w.lost = true
	if w.last == 0 {
		w.defect(LogGap, rec.Seq, "the log begins with commit %d, which was written after commit %d: that is missing, or the session was deleted while it was written to", rec.Seq, expected)
		return
	}
	w.defect(LogGap, rec.Seq, "commit %d was written after commit %d, and follows %d: what was between them is missing", rec.Seq, expected, w.last)
}

// fold folds a commit as a host does that opens the session.
func (w *verifier) fold(rec records.Record, events []run.Event) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it cannot be folded: %v", p)
		}
	}()
	w.log.apply(events)
	w.log.note(rec.Seq, len(rec.Data), events)
	for _, id := range w.log.answers() {
		w.answers[id] = true
	}
	return nil
}

// compare compares the snapshot with the fold, both as a host writes them.
func (w *verifier) compare() error {
	w.found.Snapshot = true
	fold := w.log.folded()
	if w.snap.Spoken == nil { // a host of before writes none
		fold.Spoken = nil
	}
	if len(w.snap.Answers) == 0 { // the same
		fold.Answers = nil
	}
	if !w.snap.Brought {
		fold.Brought = false
	}
	if w.snap.SpokeAt.IsZero() {
		fold.SpokeAt = time.Time{}
	}
	w.forgetAnswers(fold.IDs)
	if r := w.snap.State.Run; r != nil && r.Joined == 0 && fold.State.Run != nil { // a host of before counts none
		same := *fold.State.Run
		same.Joined = 0
		fold.State.Run = &same
	}
	want, err := fold.appendJSON(nil)
	if err != nil {
		return err
	}
	again := snapshot{}
	if err := json.Unmarshal(want, &again); err != nil {
		return err
	}
	if want, err = again.appendJSON(want[:0]); err != nil {
		return err
	}
	got, err := w.snap.appendJSON(nil)
	if err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		w.defect(SnapshotDiffers, w.snap.Seq, "the snapshot of commit %d is not the fold of the log up to there: they differ from byte %d on", w.snap.Seq, common(got, want))
	}
	return nil
}

// forgetAnswers takes the commits from the answers of a fold that have none in the snapshot. A
// host of before forgot them in each run of which it had a snapshot, and the snapshots that
// follow one another keep that.
func (w *verifier) forgetAnswers(fold []known) {
	for i, k := range w.snap.IDs {
		if i < len(fold) && k.Seq == 0 && k.ID == fold[i].ID && w.answers[k.ID] {
			fold[i].Seq = 0
		}
	}
}

// snapshotInLog verifies that the log has the commit of the snapshot. A snapshot of
// before the log is of a session that was deleted and begun again.
func (w *verifier) snapshotInLog() {
	switch {
	case w.snap == nil || w.found.Snapshot || w.snap.Seq < w.first:
	case w.snap.Seq > w.last:
		w.defect(SnapshotAhead, w.snap.Seq, "the snapshot is of commit %d, and the log ends with %d: its end is missing", w.snap.Seq, w.last)
	case !w.lost:
		w.defect(LogGap, w.snap.Seq, "the snapshot is of commit %d, which the log does not have", w.snap.Seq)
	}
}

// common is how long the common beginning of two texts is.
func common(a, b []byte) int {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	return i
}
