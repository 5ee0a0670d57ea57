package pairing

import (
	"context"
	"encoding/json"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// silence takes the code out of an entry. What is left keeps the hour without another
// notice, also for one who is approved and shut out again in it. The error is ErrNoCode where
// another operator was faster.
func (s *Store) silence(ctx context.Context, e entry) (revision uint64, err error) {
	p := e.Pairing
	p.Code = ""
	revision, err = s.replace(ctx, e, p, e.revision)
	if records.Overtaken(err) {
		err = ErrNoCode
	}
	return revision, err
}

// backTime bounds how long putting back a code may take, and a second try where the first had no answer.
const backTime = 2 * time.Second

// reopen puts a code back whose approval could not be stored, so that it can be approved again.
// Without that the person gets another one when the hour is over.
func (s *Store) reopen(ctx context.Context, e entry, revision uint64) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backTime)
	defer cancel()
	_, _ = s.replace(ctx, e, e.Pairing, revision)
}

// replace writes p in the place of a revision of an entry, until the entry's end.
func (s *Store) replace(ctx context.Context, e entry, p Pairing, revision uint64) (uint64, error) {
	data, err := json.Marshal(p)
	if err != nil {
		return 0, err
	}
	left := time.Until(e.Expires)
	if left <= 0 || left > Valid { // it was written by another clock than this one, as it is still there
		left = Valid
	}
	msg := nats.NewMsg("$KV." + bus.PairingsBucket + "." + e.key)
	msg.Data = data
	id := nuid.Next()
	msg.Header.Set(nats.MsgIdHdr, id)
	publish := func(ctx context.Context) (*jetstream.PubAck, error) {
		return s.js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(revision), jetstream.WithMsgTTL(max(left, time.Second)))
	}
	ack, err := publish(ctx)
	if err == nil || records.Overtaken(err) {
		return sequenceOf(ack), err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), backTime)
	defer cancel()
	if ack, err = publish(ctx); !records.Overtaken(err) {
		return sequenceOf(ack), err
	}
	rec, looked := records.NewReader(s.js).Entry(ctx, bus.PairingsBucket, e.key)
	if looked == nil && rec.Header.Get(nats.MsgIdHdr) == id { // the answer to the first try was lost
		return rec.Seq, nil
	}
	return 0, err
}

// sequenceOf is the sequence of what was stored, 0 where nothing was.
func sequenceOf(ack *jetstream.PubAck) uint64 {
	if ack == nil {
		return 0
	}
	return ack.Sequence
}
