package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"agenthost/bus"
	"agenthost/bus/records"
	"agenthost/run"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// replacesHeader marks a commit that takes the place of the whole log before it. Unlike
// a rollup it leaves what was before where it is, so that each message can be
// overwritten on its disk; whoever reads the log begins with the last such commit.
const replacesHeader = "Agent-Replaces"

// begins reports whether a message of a log needs none of those before it.
func begins(rec records.Record) bool {
	return rec.Header.Get(rollupHeader) != "" || rec.Header.Get(replacesHeader) != ""
}

// restart forgets what was folded of a log.
func (l *Log) restart() {
	*l = Log{store: l.store, key: l.key, subject: l.subject, snapSubject: l.snapSubject, seq: l.seq, state: run.State{Phase: run.Idle}}
}

// tries bounds how often a change is made again because its session was written to.
const tries = 5

// Erase deletes a session as Delete does, whatever is under way in it, and has NATS
// overwrite each message of it. The objects that it names stay: Named finds them. What an Erase that was cut off has left, another one
// deletes. A session that is written to all the time is ErrRunning.
func (a *Archive) Erase(ctx context.Context, agent, sid string) (Deletion, error) {
	d := Deletion{Agent: agent, SID: sid}
	err := a.erase(ctx, &d)
	if err != nil && !errors.Is(err, ErrNoSession) {
		err = fmt.Errorf("erase session %s of %s: %w", sid, agent, err)
	}
	return d, err
}

func (a *Archive) erase(ctx context.Context, d *Deletion) error {
	marker, err := a.endLog(ctx, d)
	if err != nil && !errors.Is(err, ErrNoSession) {
		return err
	}
	none := err
	if d.Commits, err = a.overwrite(ctx, Subject(d.Agent, d.SID), marker); err != nil {
		return err
	}
	snapshots, err := a.overwrite(ctx, snapshotSubject(d.Agent, d.SID), 0)
	if snapshots > 0 {
		none = nil
	}
	if err == nil {
		err = a.ForgetWaiting(ctx, d.Agent, d.SID)
	}
	if err == nil && marker > 0 {
		_, err = a.overwrite(ctx, Subject(d.Agent, d.SID), marker+1)
	}
	return errors.Join(none, err)
}

// EraseSnapshot has NATS overwrite the snapshot of a session that has no log any more.
// ErrRunning says that it has one again.
func (a *Archive) EraseSnapshot(ctx context.Context, agent, sid string) error {
	_, err := a.store.Reader.Last(ctx, bus.SessionsStream, Subject(agent, sid))
	switch {
	case err == nil:
		err = ErrRunning
	case errors.Is(err, records.ErrNotFound):
		if _, err = a.overwrite(ctx, snapshotSubject(agent, sid), 0); err == nil {
			err = a.ForgetWaiting(ctx, agent, sid)
		}
	}
	if err != nil {
		return fmt.Errorf("erase the snapshot of session %s of %s: %w", sid, agent, err)
	}
	return nil
}

// endLog writes an empty commit that takes the place of a log. An owner is refused from
// then on.
func (a *Archive) endLog(ctx context.Context, d *Deletion) (marker uint64, err error) {
	for range tries {
		last, err := a.store.Reader.Last(ctx, bus.SessionsStream, Subject(d.Agent, d.SID))
		if errors.Is(err, records.ErrNotFound) {
			return 0, ErrNoSession
		}
		if err != nil {
			return 0, err
		}
		if d.Key, err = a.store.keyIn(ctx, last); err != nil && !errors.Is(err, records.ErrNotFound) {
			return 0, err
		}
		data, err := json.Marshal(Commit{V: version, Key: d.Key})
		if err != nil {
			return 0, err
		}
		if marker, err = a.replace(ctx, Subject(d.Agent, d.SID), last.Seq, data); err == nil || !bus.Refused(err) {
			return marker, err
		}
	}
	return 0, ErrRunning
}

// replace writes a commit that takes the place of a log whose last message is last.
func (a *Archive) replace(ctx context.Context, subject string, last uint64, data []byte) (seq uint64, err error) {
	msg := nats.NewMsg(subject)
	msg.Data = data
	msg.Header.Set(replacesHeader, "log")
	msg.Header.Set(expectedLastSubjectSequence, strconv.FormatUint(last, 10))
	ack, err := a.js.PublishMsg(ctx, msg)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// overwrite has NATS overwrite and delete the messages of a subject that come before a
// sequence; 0: all.
func (a *Archive) overwrite(ctx context.Context, subject string, before uint64) (n int, err error) {
	var seqs []uint64
	for rec, err := range a.store.Reader.Tail(ctx, bus.SessionsStream, subject, 1) {
		if err != nil {
			return 0, err
		}
		if before > 0 && rec.Seq >= before {
			break
		}
		seqs = append(seqs, rec.Seq)
	}
	return records.Overwrite(ctx, a.js, bus.SessionsStream, seqs)
}

// Named are the objects that a session names, in its log or snapshot.
func (a *Archive) Named(ctx context.Context, agent, sid string) (map[string]bool, error) {
	objects, _, err := a.objects(ctx, agent, sid)
	return objects, err
}

// NamedIn are the objects that a message of any stream names.
func (a *Archive) NamedIn(ctx context.Context, data []byte) (map[string]bool, error) {
	objects := map[string]bool{}
	err := a.named(ctx, data, objects)
	return objects, err
}

// Unnamed takes from objects those that a message of a stream names.
func (a *Archive) Unnamed(ctx context.Context, stream string, objects map[string]bool) error {
	if len(objects) == 0 {
		return nil
	}
	for rec, err := range a.store.Reader.Tail(ctx, stream, ">", 1) {
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if !bytes.Contains(rec.Data, []byte("object")) {
			continue
		}
		named, err := a.NamedIn(ctx, rec.Data)
		if err != nil {
			return err
		}
		for name := range named {
			delete(objects, name)
		}
	}
	return nil
}
