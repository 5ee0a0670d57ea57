// Package records reads what streams keep, without a consumer that acknowledges: one
// message, the newest of each subject, all from a sequence on, or the entry of a
// bucket. Of a stream with replicas the leader is asked, where a copy may lag behind.
package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
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
	nc     *nats.Conn
	api    string
	copies *copies
}

// NewReader makes a Reader of the streams that js is about, in whatever domain.
func NewReader(js jetstream.JetStream) *Reader {
	return &Reader{nc: js.Conn(), api: bus.APIPrefix(js), copies: &copies{js: js, looked: map[string]*look{}}}
}

// A Record is a stored message.
type Record struct {
	Subject string
	Seq     uint64
	Time    time.Time
	Header  nats.Header
	Data    []byte
}

// ErrNotFound tells that there is no such message.
var ErrNotFound = errors.New("message not found")

// Last reads the newest message of subject.
func (r *Reader) Last(ctx context.Context, stream, subject string) (Record, error) {
	return r.one(ctx, stream, getRequest{LastFor: subject})
}

// Get reads the message with sequence seq.
func (r *Reader) Get(ctx context.Context, stream string, seq uint64) (Record, error) {
	return r.one(ctx, stream, getRequest{Seq: seq})
}

// Next reads the first message of subject whose sequence is seq or more.
func (r *Reader) Next(ctx context.Context, stream, subject string, seq uint64) (Record, error) {
	return r.one(ctx, stream, getRequest{Seq: max(seq, 1), NextFor: subject})
}

func (r *Reader) one(ctx context.Context, stream string, req getRequest) (Record, error) {
	leader, err := r.needLeader(ctx, stream)
	if err != nil {
		return Record{}, err
	}
	if leader {
		return r.ask(ctx, stream, req)
	}
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
	msg, err := r.nc.RequestWithContext(ctx, to, body)
	if err != nil {
		return nil, fmt.Errorf("read stored message: %w", err)
	}
	return msg, nil
}

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

// What one request reads: all of a tail is wanted, of a search mostly the first.
const (
	tailBatch   = 256
	searchBatch = 16
	// batchBytes is well below what the client buffers for a slow reader.
	batchBytes = 16 << 20
)

// Tail reads the messages of subject from sequence seq on, oldest first, up to
// the newest at the time of asking. An error ends it.
func (r *Reader) Tail(ctx context.Context, stream, subject string, seq uint64) iter.Seq2[Record, error] {
	return r.tail(ctx, stream, getRequest{Seq: max(seq, 1), NextFor: subject, Batch: tailBatch, MaxBytes: batchBytes})
}

func (r *Reader) tail(ctx context.Context, stream string, req getRequest) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		leader, err := r.needLeader(ctx, stream)
		switch {
		case err != nil:
		case leader:
			err = r.tailOfLeader(ctx, stream, req, yield)
		default:
			_, _, err = r.batches(ctx, stream, req, yield)
		}
		if err != nil {
			yield(Record{}, err)
		}
	}
}

// tailOfLeader reads a tail that begins and ends where it does for the leader.
// In between any copy serves: it may lack the newest messages, and no others.
func (r *Reader) tailOfLeader(ctx context.Context, stream string, req getRequest, yield func(Record, error) bool) error {
	for {
		rec, err := r.ask(ctx, stream, getRequest{Seq: req.Seq, StartTime: req.StartTime, NextFor: req.NextFor})
		if errors.Is(err, ErrNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		if !yield(rec, nil) {
			return nil
		}
		req.Seq, req.StartTime = rec.Seq+1, nil
		next, more, err := r.batches(ctx, stream, req, yield)
		if err != nil || !more {
			return err
		}
		req.Seq = next
	}
}

// batches yields one batch after the other, up to the end of the copies that
// answer. next is the sequence after them; more tells that more is wanted.
func (r *Reader) batches(ctx context.Context, stream string, req getRequest, yield func(Record, error) bool) (next uint64, wanted bool, err error) {
	each := func(rec Record) bool {
		wanted = yield(rec, nil)
		return wanted
	}
	wanted = true
	for more := true; more; {
		var last uint64
		last, more, err = r.batch(ctx, r.direct(stream, &req), req, each)
		if err != nil {
			return 0, false, err
		}
		if last > 0 {
			req.Seq, req.StartTime = last+1, nil
		}
	}
	return req.Seq, wanted, nil
}

// batch yields one batch; more tells whether another should be asked for.
func (r *Reader) batch(ctx context.Context, api string, req getRequest, yield func(Record) bool) (last uint64, more bool, err error) {
	inbox := r.nc.NewInbox()
	answers := make(chan *nats.Msg, req.Batch+1) // a SubscribeSync would make room for half a million
	sub, err := r.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return 0, false, fmt.Errorf("read stored messages: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }()
	gone := make(chan struct{}, 1)
	sub.SetClosedHandler(func(string) {
		select {
		case gone <- struct{}{}:
		default:
		}
	})
	body, err := encodeRequest(req)
	if err != nil {
		return 0, false, err
	}
	if err := r.nc.PublishRequest(api, inbox, body); err != nil {
		return 0, false, fmt.Errorf("read stored messages: %w", err)
	}
	for {
		msg, err := nextMsg(ctx, answers, gone)
		if err != nil {
			return 0, false, fmt.Errorf("read stored messages: %w", err)
		}
		if msg.Header.Get("Status") == "204" { // the end of the batch
			left, _ := strconv.Atoi(msg.Header.Get("Nats-Num-Pending"))
			return last, left > 0 && last > 0, nil
		}
		rec, err := record(msg)
		if errors.Is(err, ErrNotFound) {
			return last, false, nil
		}
		if err != nil {
			return 0, false, err
		}
		last = rec.Seq
		if !yield(rec) {
			return last, false, nil
		}
	}
}

// nextMsg waits for the next message of a batch, which may be lost with its
// connection.
func nextMsg(ctx context.Context, answers <-chan *nats.Msg, gone <-chan struct{}) (*nats.Msg, error) {
	select { // mostly it is there already
	case msg := <-answers:
		return msg, nil
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	select {
	case msg := <-answers:
		return msg, nil
	case <-gone:
		return nil, nats.ErrConnectionClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
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

// streamOf is the stream that keeps replies on subject.
func streamOf(subject string) string {
	switch {
	case strings.HasPrefix(subject, bus.RoutePrefix):
		return bus.RoutesStream
	case strings.HasPrefix(subject, bus.DuePrefix):
		return bus.SchedulesStream
	}
	return bus.OutboundStream
}

// FindID returns the first Nats-Msg-Id of which is decides among the messages of
// subject published at since or later, of which it looks at no more than most; 0
// means all. It is "" when there is none.
func (r *Reader) FindID(ctx context.Context, subject string, since time.Time, most int, is func(id string) bool) (string, error) {
	seen := 0
	for rec, err := range r.tail(ctx, streamOf(subject), getRequest{StartTime: &since, NextFor: subject, Batch: searchBatch, MaxBytes: batchBytes}) {
		if err != nil {
			return "", err
		}
		if id := rec.Header.Get(nats.MsgIdHdr); id != "" && is(id) {
			return id, nil
		}
		if seen++; seen == most {
			break
		}
	}
	return "", nil
}
