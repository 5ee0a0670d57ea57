package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"agenthost/bus"
	"agenthost/bus/filestore"
	"agenthost/bus/publishing"
	"agenthost/bus/records"
	"agenthost/run"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

// A Store opens the logs of sessions. Its parts are those of the bus; Limit is
// the largest commit that goes into a message, what is larger goes to Files. 0: half of what
// NATS takes at the time.
type Store struct {
	Publisher *publishing.Publisher
	Reader    *records.Reader
	Files     *filestore.Store
	Limit     int
	Log       zerolog.Logger
	// Committed hears of every commit of the logs that were opened, once it is stored, and of
	// which it follows in the log; nil: no observer. It must not block, nor keep events.
	Committed func(subject string, key Key, run string, after, seq uint64, events []run.Event)

	unknown unknownTypes
}

func (s *Store) limit() int {
	if s.Limit > 0 {
		return s.Limit
	}
	return s.Reader.MaxPayload() / 2
}

// Subject is where the log of a session is kept.
func Subject(agent, sid string) string { return subjectPrefix + agent + "." + sid }

const subjectPrefix = "agent.session."

func snapshotSubject(agent, sid string) string { return "agent.snapshot." + agent + "." + sid }

// Open reads the log of a session: its last snapshot and what came after.
//
// What others have written there is passed over, as is a snapshot that cannot be
// read: all that it says is in the log. A commit that can be read by later
// versions only, that is damaged or that lacks its file, is an error: it may be there
// again, and without it what people were promised would be forgotten.
func (s *Store) Open(ctx context.Context, agent string, key Key) (*Log, error) {
	return s.open(ctx, agent, SID(agent, key), key)
}

func (s *Store) open(ctx context.Context, agent, sid string, key Key) (*Log, error) {
	l := &Log{
		store: s, key: key, subject: Subject(agent, sid), snapSubject: snapshotSubject(agent, sid),
		state: run.State{Phase: run.Idle},
	}
	last, err := s.Reader.Last(ctx, bus.SessionsStream, l.subject)
	if errors.Is(err, records.ErrNotFound) {
		return l, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open session %s: %w", sid, err)
	}
	if err := l.load(ctx, last); err != nil {
		return nil, fmt.Errorf("open session %s: %w", sid, err)
	}
	return l, nil
}

// load folds the snapshot, if there is one, and the tail up to last or
// beyond.
func (l *Log) load(ctx context.Context, last records.Record) error {
	if err := l.loadSnapshot(ctx, last.Seq); err != nil {
		return err
	}
	if l.seq >= last.Seq {
		return nil
	}
	for rec, err := range l.rest(ctx, last) {
		if err != nil {
			return err
		}
		c, err := l.store.decode(ctx, rec)
		switch {
		case errors.Is(err, errForeign):
			l.store.Log.Warn().Err(err).Str("subject", l.subject).Uint64("seq", rec.Seq).Msg("passed over in a session's log")
		case err != nil:
			return fmt.Errorf("commit %d: %w", rec.Seq, err)
		}
		if rec.Header.Get(replacesHeader) != "" {
			l.restart()
		}
		l.store.unknown.say(l.store.Log, rec, c.Events)
		l.apply(c.Events)
		l.note(rec.Seq, len(rec.Data), c.Events)
	}
	if l.seq < last.Seq {
		return fmt.Errorf("the log ends at %d, before %d", l.seq, last.Seq)
	}
	return nil
}

func (l *Log) loadSnapshot(ctx context.Context, last uint64) error {
	snap, kept, err := l.readSnapshot(ctx)
	for missing := ""; errors.Is(err, jetstream.ErrObjectNotFound) && kept.object != missing; {
		missing = kept.object // replaced just now: the next one tells
		snap, kept, err = l.readSnapshot(ctx)
	}
	switch {
	case errors.Is(err, records.ErrNotFound):
		return nil
	case errors.Is(err, errNoSnapshot), errors.Is(err, jetstream.ErrObjectNotFound):
		l.store.Log.Warn().Err(err).Str("subject", l.snapSubject).Msg("a snapshot cannot be used; reading the whole log")
		return nil
	case err != nil:
		return err
	}
	first, err := l.store.Reader.Next(ctx, bus.SessionsStream, l.subject, 1)
	if err != nil {
		return err
	}
	if snap.Seq > last || snap.Seq < first.Seq { // of a session that was deleted and started again
		return nil
	}
	l.state, l.seq, l.replied, l.spokeAt, l.snap = snap.State, snap.Seq, snap.Replied, snap.SpokeAt, kept
	l.ids.restore(snap.IDs)
	if snap.Spoken != nil {
		l.spoken = *snap.Spoken
	}
	if l.state.Run != nil {
		l.open = append(inputIDs(l.state.Run.Inputs), snap.Answers...)
		l.brought = snap.Brought
	}
	return nil
}

// readSnapshot reads the last snapshot, wherever it is.
func (l *Log) readSnapshot(ctx context.Context) (snap snapshot, kept stored, err error) {
	rec, err := l.store.Reader.Last(ctx, bus.SessionsStream, l.snapSubject)
	if err != nil {
		return snap, kept, err
	}
	err = readJSON(rec.Data, &snap)
	if snap.V > version {
		return snap, kept, fmt.Errorf("%w: %d is of version %d; this program reads %d", errNoSnapshot, rec.Seq, snap.V, version)
	}
	if err != nil {
		return snap, kept, fmt.Errorf("%w: %d: %w", errNoSnapshot, rec.Seq, err)
	}
	if snap.Seq == 0 {
		return snap, kept, fmt.Errorf("%w: %d: it names no commit", errNoSnapshot, rec.Seq)
	}
	kept = stored{len(rec.Data), len(snap.State.Messages), snap.Object}
	if snap.Object == "" {
		return snap, kept, nil
	}
	data, err := l.store.Files.Get(ctx, snap.Object)
	if err != nil {
		return snap, kept, err
	}
	kept.size = len(data)
	if err := readJSON(data, &snap); err != nil {
		return snap, kept, fmt.Errorf("%w: %d: %w", errNoSnapshot, rec.Seq, err)
	}
	kept.messages = len(snap.State.Messages)
	return snap, kept, nil
}

// KeyOf finds the key of a session in its log. The error is records.ErrNotFound for
// a session without one.
func (s *Store) KeyOf(ctx context.Context, agent, sid string) (Key, error) {
	rec, err := s.Reader.Last(ctx, bus.SessionsStream, Subject(agent, sid))
	if err != nil {
		return "", err
	}
	return s.keyIn(ctx, rec)
}

// keyIn is KeyOf for a log whose last message is known.
func (s *Store) keyIn(ctx context.Context, last records.Record) (Key, error) {
	if key := keyOf(last.Data); key != "" {
		return key, nil
	}
	for c, err := range s.Commits(ctx, last.Subject) {
		if err != nil || c.Key != "" {
			return c.Key, err
		}
	}
	return "", records.ErrNotFound
}

// keyOf is the key that a commit has, empty when no host has written it.
func keyOf(commit []byte) Key {
	head := struct{ Key Key }{}
	if readJSON(commit, &head) != nil {
		return ""
	}
	return head.Key
}

// A Said is what a commit has said to the outside.
type Said struct {
	Replies []run.Reply
	Inputs  []run.Input // of its run, where it is the first of it
	At      time.Time   // when it was made; of one that has replaced others, its oldest reply with an address

	replaces bool // it has those of a whole log
}

// to are the replies to the message with that id.
func (s Said) to(id string) []run.Reply {
	if !s.replaces {
		return s.Replies
	}
	return slices.DeleteFunc(s.Replies, func(r run.Reply) bool {
		out := bus.Outbound{}
		return json.Unmarshal(r.Envelope, &out) != nil || out.InReplyTo != id && !slices.Contains(out.Merged, id)
	})
}

// Said reads what the commit with sequence seq has said.
func (s *Store) Said(ctx context.Context, seq uint64) (said Said, err error) {
	rec, err := s.Reader.Get(ctx, bus.SessionsStream, seq)
	if err != nil {
		return said, fmt.Errorf("read commit %d: %w", seq, err)
	}
	c, err := s.decode(ctx, rec)
	if err != nil {
		return said, fmt.Errorf("read commit %d: %w", seq, err)
	}
	said.At, said.replaces = rec.Time, rec.Header.Get(replacesHeader) != ""
	for _, e := range c.Events {
		if said.replaces && e.Reply != nil && e.Reply.Subject != "" && e.At.Before(said.At) {
			said.At = e.At // it may have been published since then
		}
		switch {
		case e.Type == run.Started:
			said.Inputs = e.Inputs
		case e.Reply != nil && replies(e.Type):
			said.Replies = append(said.Replies, *e.Reply)
		}
	}
	return said, nil
}

// replies reports whether the reply of an event goes out.
func replies(t run.EventType) bool {
	return t == run.Replied || t == run.InputRefused || t == run.InputPassedOn || t == run.OperatorSaid || !t.Known()
}

// putFile stores v where there is room for what is too large for a message.
func (s *Store) putFile(ctx context.Context, v any) (object string, err error) {
	data, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return s.Files.Put(ctx, data)
}

const expectedLastSubjectSequence = jetstream.ExpectedLastSubjSeqHeader
