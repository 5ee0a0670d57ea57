// Package records reads what streams keep, without a consumer that acknowledges: one
// message, the newest of each subject, all from a sequence on, or the entry of a
// bucket. Of a stream with replicas the leader is asked, where a copy may lag behind.
package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A Reader reads stored messages of one subject without a consumer: one
// request for the last, one for each batch of a tail.
//
// What it says holds for the stream and not only for one of its copies: of a
// stream with several, one message is read from the leader, and so are the
// beginning and the end of a tail.
type Reader struct {
	nc      *nats.Conn
	api     string
	copies  *copies
	fastest atomic.Int64 // answer, in nanoseconds; 0: none yet
}

// NewReader makes a Reader of the streams that js is about, in whatever domain.
func NewReader(js jetstream.JetStream) *Reader {
	return &Reader{nc: js.Conn(), api: bus.APIPrefix(js), copies: &copies{js: js, looked: map[string]*look{}}}
}

// MaxPayload is how large a message may be, with its headers, at the server that is asked by now.
func (r *Reader) MaxPayload() int { return int(r.nc.MaxPayload()) }

// A Record is a stored message.
type Record struct {
	Subject string
	Seq     uint64
	Time    time.Time
	Header  nats.Header
	Data    []byte
}

// ErrNotFound is returned when there is no such message.
var ErrNotFound = errors.New("message not found")

// Last reads the newest message of subject.
func (r *Reader) Last(ctx context.Context, stream, subject string) (Record, error) {
	if len(subject) > bus.LongestSubject {
		return Record{}, ErrNotFound
	}
	return r.one(ctx, stream, getRequest{LastFor: subject})
}

func (r *Reader) lastFromAny(ctx context.Context, stream, subject string) (Record, error) {
	if len(subject) > bus.LongestSubject {
		return Record{}, ErrNotFound
	}
	return r.fromAny(ctx, stream, getRequest{LastFor: subject})
}

// Get reads the message with sequence seq.
func (r *Reader) Get(ctx context.Context, stream string, seq uint64) (Record, error) {
	return r.one(ctx, stream, getRequest{Seq: seq})
}

// GetFromAny is Get as any copy of the stream has it: one that lags behind, or was damaged,
// may lack the message.
func (r *Reader) GetFromAny(ctx context.Context, stream string, seq uint64) (Record, error) {
	return r.fromAny(ctx, stream, getRequest{Seq: seq})
}

// Next reads the first message of subject whose sequence is seq or more.
func (r *Reader) Next(ctx context.Context, stream, subject string, seq uint64) (Record, error) {
	return r.one(ctx, stream, getRequest{Seq: max(seq, 1), NextFor: subject})
}

// NextAtLeader is Next as the leader of the stream has it: a copy that was damaged, or is
// still being made, may lack any message.
func (r *Reader) NextAtLeader(ctx context.Context, stream, subject string, seq uint64) (Record, error) {
	return r.ask(ctx, stream, getRequest{Seq: max(seq, 1), NextFor: subject})
}

// Begin is the time from which on a stream has all that it was given: what came before may have
// been deleted, for its age or its size. It is zero of one that has not lost any.
func (r *Reader) Begin(ctx context.Context, stream string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	s, err := r.copies.js.Stream(ctx, stream)
	if err != nil {
		return time.Time{}, fmt.Errorf("look at stream %s: %w", stream, err)
	}
	info := s.CachedInfo()
	switch state := info.State; {
	case state.FirstSeq <= 1:
		return time.Time{}, nil
	case state.Msgs > 0:
		return state.FirstTime, nil
	case !state.LastTime.IsZero():
		return state.LastTime, nil
	}
	return info.TimeStamp, nil
}

func (r *Reader) one(ctx context.Context, stream string, req getRequest) (Record, error) {
	leader, err := r.needLeader(ctx, stream)
	if err != nil {
		return Record{}, err
	}
	if leader {
		return r.ask(ctx, stream, req)
	}
	return r.fromAny(ctx, stream, req)
}

// fromAny has a request answered by any copy.
func (r *Reader) fromAny(ctx context.Context, stream string, req getRequest) (Record, error) {
	msg, err := r.request(ctx, r.direct(stream, &req), req)
	if err != nil {
		return Record{}, err
	}
	return record(msg)
}

func (r *Reader) needLeader(ctx context.Context, stream string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	leader, err := r.copies.needLeader(ctx, stream)
	if err != nil {
		return false, fmt.Errorf("read stored message: look at stream %s: %w", stream, err)
	}
	return leader, nil
}

// direct is where any copy answers. The question for the last message of a
// subject stands in it, where permissions can tell one subject from another.
func (r *Reader) direct(stream string, req *getRequest) string {
	to := r.api + "DIRECT.GET." + stream
	if req.LastFor != "" {
		to, req.LastFor = to+"."+req.LastFor, ""
	}
	return to
}

func (r *Reader) request(ctx context.Context, to string, req getRequest) (*nats.Msg, error) {
	body, err := encodeRequest(req)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout) // an answer may be lost with its connection
	defer cancel()
	asked := time.Now()
	msg, err := bus.Again(ctx, func(ctx context.Context) (*nats.Msg, error) { return r.nc.RequestWithContext(ctx, to, body) })
	if err != nil {
		return nil, fmt.Errorf("read stored message: %w", err)
	}
	if took := int64(time.Since(asked)); took < r.fastest.Load() || r.fastest.Load() == 0 {
		r.fastest.Store(took) // it matters little if another has just stored its own
	}
	return msg, nil
}

// Fastest is how soon a question for one message was answered at best: how far the server is.
// It is 0 before the first answer.
func (r *Reader) Fastest() time.Duration { return time.Duration(r.fastest.Load()) }

type getRequest struct {
	Seq       uint64     `json:"seq,omitempty"`
	StartTime *time.Time `json:"start_time,omitempty"`
	LastFor   string     `json:"last_by_subj,omitempty"`
	NextFor   string     `json:"next_by_subj,omitempty"`
	Batch     int        `json:"batch,omitempty"`
	MaxBytes  int        `json:"max_bytes,omitempty"`
}

func encodeRequest(req getRequest) ([]byte, error) {
	if req == (getRequest{}) {
		return nil, nil
	}
	return json.Marshal(req)
}

func record(msg *nats.Msg) (Record, error) {
	switch status := msg.Header.Get("Status"); status {
	case "":
	case "404":
		return Record{}, ErrNotFound
	case "503":
		return Record{}, fmt.Errorf("read stored message: %w", nats.ErrNoResponders)
	default:
		return Record{}, fmt.Errorf("read stored message: status %s %s", status, msg.Header.Get("Description"))
	}
	seq, err := strconv.ParseUint(msg.Header.Get(jetstream.SequenceHeader), 10, 64)
	if err != nil {
		return Record{}, fmt.Errorf("read stored message: sequence: %w", err)
	}
	at, err := time.Parse(time.RFC3339Nano, msg.Header.Get(jetstream.TimeStampHeaer))
	if err != nil {
		return Record{}, fmt.Errorf("read stored message: time: %w", err)
	}
	return Record{
		Subject: msg.Header.Get(jetstream.SubjectHeader), Seq: seq, Time: at, Header: msg.Header, Data: msg.Data,
	}, nil
}
