package session

import (
	"context"
	"encoding/json"
	"errors"
	"hash/crc32"
	"slices"
	"strconv"
	"time"

	"agenthost/bus/publishing"
	"agenthost/run"

	"github.com/nats-io/nats.go"
)

// A snapshot is written after snapshotEvery commits, or later, when they have as
// many bytes as the one before and are as many as the turns it holds. So a commit
// of a session costs the same whatever is remembered of it, and to open one is to
// read at most as many turns from commits as from its snapshot, or so many.
const snapshotEvery = 64

// A snapshot is the fold of a log up to Seq.
type snapshot struct {
	V       int       `json:"v"`
	Key     Key       `json:"key"`
	Seq     uint64    `json:"seq"`
	Replied uint64    `json:"replied,omitempty"`
	Spoken  *spoken   `json:"spoken,omitempty"`
	Answers []string  `json:"answers,omitempty"` // ids of what has come for the unfinished run beside its inputs
	Brought bool      `json:"brought,omitempty"` // some of it by another lane than that of its messages, or from the log
	SpokeAt time.Time `json:"spoke_at,omitzero"` // see Log.RepliedAt
	State   run.State `json:"state"`
	IDs     []known   `json:"ids,omitempty"`
	Object  string    `json:"object,omitempty"`

	room int // that it will take, about
}

// stored is what is known of a snapshot as it was written.
type stored struct {
	size     int
	messages int    // of the conversation
	object   string // that holds it, if a message was too small
}

// appendJSON appends what json.Marshal makes of a snapshot that is no Object.
func (s *snapshot) appendJSON(data []byte) ([]byte, error) {
	data = strconv.AppendUint(append(appendHead(data, s.Key), `,"seq":`...), s.Seq, 10)
	data = strconv.AppendUint(append(data, `,"replied":`...), s.Replied, 10)
	if s.Spoken != nil { // rarely
		list, err := json.Marshal(s.Spoken)
		if err != nil {
			return nil, err
		}
		data = append(append(data, `,"spoken":`...), list...)
	}
	if len(s.Answers) > 0 { // the same
		list, err := json.Marshal(s.Answers)
		if err != nil {
			return nil, err
		}
		data = append(append(data, `,"answers":`...), list...)
	}
	if s.Brought {
		data = append(data, `,"brought":true`...)
	}
	if !s.SpokeAt.IsZero() {
		data = append(s.SpokeAt.AppendFormat(append(data, `,"spoke_at":"`...), time.RFC3339Nano), '"')
	}
	data, err := s.State.AppendJSON(append(data, `,"state":`...))
	data = appendKnown(append(data, `,"ids":`...), s.IDs)
	return append(data, '}'), err
}

// takeSnapshot returns a snapshot when one is due and the state is that of the
// last commit, no more and no less. Called with the lock held.
func (l *Log) takeSnapshot() *snapshot {
	due := l.fresh || l.since >= l.snapshotAfter() && l.tail >= l.snap.size
	if l.broken != nil || l.busy || l.owed > 0 || !due || l.state.Pending() > 0 {
		return nil
	}
	room := l.snap.size + l.tail/2 // a commit has each text twice at least, and more besides
	l.since, l.tail, l.fresh = 0, 0, false
	snap := l.folded()
	snap.room = room
	return &snap
}

// folded is the snapshot of the log as it is now. Called with the lock held.
func (l *Log) folded() snapshot {
	return snapshot{
		V: version, Key: l.key, Seq: l.seq, Replied: l.replied, Spoken: l.spoken.snapshot(),
		Answers: l.answers(), Brought: l.brought, SpokeAt: l.spokeAt, State: l.state, IDs: l.ids.list(),
	}
}

// answers are the ids of what has come for the unfinished run beside its inputs. Called with
// the lock held.
func (l *Log) answers() (list []string) {
	if l.state.Run == nil {
		return nil
	}
	inputs := inputIDs(l.state.Run.Inputs)
	for _, id := range l.open {
		if !slices.Contains(inputs, id) {
			list = append(list, id)
		}
	}
	return list
}

// snapshotAfter is after how many commits the next snapshot is due. Long sessions that
// began together differ in it by up to half: all their snapshots at once, of hundreds of
// kilobytes each, took more memory than a small host has.
func (l *Log) snapshotAfter() int {
	turns := l.snap.messages / 2
	if turns <= snapshotEvery {
		return snapshotEvery
	}
	return turns + turns*int(crc32.ChecksumIEEE([]byte(l.key))%100)/200
}

// writeSnapshot replaces the session's snapshot. Losing one costs only time.
func (l *Log) writeSnapshot(ctx context.Context, snap *snapshot) {
	msg, now, err := l.snapshotMessage(ctx, snap)
	if err != nil {
		l.store.Log.Warn().Err(err).Str("session", string(l.key)).Msg("write snapshot")
		return
	}
	l.store.Publisher.Publish(msg, func(_ uint64, _ bool, err error) {
		if err == nil {
			l.replace(ctx, now)
		} else if !errors.Is(err, publishing.ErrClosed) {
			l.store.Log.Warn().Err(err).Str("session", string(l.key)).Msg("write snapshot")
		}
	})
}

// replace notes the newest snapshot, and deletes what the one before needed.
func (l *Log) replace(ctx context.Context, now stored) {
	l.mu.Lock()
	before := l.snap.object
	l.snap = now
	l.mu.Unlock()
	if before == "" || before == now.object {
		return
	}
	go func() {
		if err := l.store.Files.Delete(ctx, before); err != nil {
			l.store.Log.Debug().Err(err).Str("session", string(l.key)).Msg("delete old snapshot")
		}
	}()
}

func (l *Log) snapshotMessage(ctx context.Context, snap *snapshot) (*nats.Msg, stored, error) {
	data, err := snap.appendJSON(make([]byte, 0, snap.room))
	if err != nil {
		return nil, stored{}, err
	}
	now := stored{size: len(data), messages: len(snap.State.Messages)}
	if len(data) > l.store.limit() {
		if now.object, err = l.store.Files.Put(ctx, data); err != nil {
			return nil, stored{}, err
		}
		if data, err = json.Marshal(snapshot{V: version, Key: l.key, Seq: snap.Seq, Object: now.object}); err != nil {
			return nil, stored{}, err
		}
	}
	msg := nats.NewMsg(l.snapSubject)
	msg.Data = data
	msg.Header.Set(rollupHeader, "sub")
	return msg, now, nil
}

const rollupHeader = nats.MsgRollup
