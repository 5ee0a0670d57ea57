// Package audit keeps what operators have done: the stream AGENT_AUDIT, an entry a
// message, on agent.audit.<action>.
package audit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// An Entry is one thing that was done.
type Entry struct {
	Seq     uint64    `json:"seq"` // in the stream
	At      time.Time `json:"at"`
	Action  string    `json:"action"` // such as approve, abort, sessions-delete, reload
	By      string    `json:"by"`     // who, as the door knows them
	Door    string    `json:"door"`   // cli, api, nats, or the subject of a chat
	Agent   string    `json:"agent,omitempty"`
	Session string    `json:"session,omitempty"`
	Target  string    `json:"target,omitempty"` // what it was done to: an id, a name, numbers
	Detail  string    `json:"detail,omitempty"`
	Host    string    `json:"host,omitempty"` // that did it; empty: none was needed
	// ID names what was done: it is in the log once. Empty: a new one.
	ID string `json:"-"`
}

// mostDetail bounds what an entry repeats of a text.
const mostDetail = 500

// Message is the message that keeps an entry.
func (e Entry) Message() (*nats.Msg, error) {
	e.At = cmp.Or(e.At, time.Now()).UTC()
	if runes := []rune(e.Detail); len(runes) > mostDetail {
		e.Detail = string(runes[:mostDetail]) + "…"
	}
	msg, err := bus.NewMessage(bus.AuditPrefix+token(e.Action), e)
	if err != nil {
		return nil, fmt.Errorf("encode audit entry: %w", err)
	}
	msg.Header.Set(nats.MsgIdHdr, cmp.Or(e.ID, nuid.Next()))
	return msg, nil
}

// token is an action as a subject can have it.
func token(action string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, cmp.Or(action, "_"))
}

// A Log is the entries that JetStream keeps.
type Log struct {
	js     jetstream.JetStream
	reader *records.Reader
}

// NewLog makes a Log.
func NewLog(js jetstream.JetStream) *Log { return &Log{js, records.NewReader(js)} }

// Write adds an entry, and returns once it is stored.
func (l *Log) Write(ctx context.Context, e Entry) error {
	msg, err := e.Message()
	if err == nil {
		_, err = l.js.PublishMsg(ctx, msg)
	}
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// ErrNone is wrapped where there is no log: of what was done nothing is known.
var ErrNone = errors.New("no stream " + bus.AuditStream + ": no host of this version has run on this NATS yet")

// Since reads the entries from a time on, the oldest first.
func (l *Log) Since(ctx context.Context, at time.Time) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for rec, err := range l.reader.Since(ctx, bus.AuditStream, bus.AuditPrefix+">", at) {
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				err = ErrNone
			}
			if err != nil {
				yield(Entry{}, fmt.Errorf("read the audit log: %w", err))
				return
			}
			if e, ok := read(rec.Seq, rec.Data); ok && !yield(e, nil) {
				return
			}
		}
	}
}

// Follow yields what is done from now on, until ctx ends. ready is called when nothing
// can be missed any more.
func (l *Log) Follow(ctx context.Context, ready func()) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		once := sync.OnceFunc(ready)
		err := records.FollowStream(ctx, l.js, records.Following{
			Stream: bus.AuditStream, New: true,
			Began: func(_, _ uint64) { once() },
			Take: func(msg jetstream.Msg, meta *jetstream.MsgMetadata) error {
				if e, ok := read(meta.Sequence.Stream, msg.Data()); ok && !yield(e, nil) {
					return errEnough
				}
				return nil
			},
		})
		if err != nil && !errors.Is(err, errEnough) {
			yield(Entry{}, fmt.Errorf("follow the audit log: %w", err))
		}
	}
}

// errEnough ends a following whose caller wants no more.
var errEnough = errors.New("enough")

// read reads an entry; what is none is passed over.
func read(seq uint64, data []byte) (Entry, bool) {
	e := Entry{}
	err := json.Unmarshal(data, &e)
	e.Seq = seq
	return e, err == nil && e.Action != ""
}
