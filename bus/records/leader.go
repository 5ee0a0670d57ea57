package records

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// leaderAnswer is what the leader of a stream says to a question for a message.
type leaderAnswer struct {
	Error   *jetstream.APIError `json:"error"`
	Message *struct {
		Subject string    `json:"subject"`
		Seq     uint64    `json:"seq"`
		Header  []byte    `json:"hdrs"`
		Data    []byte    `json:"data"`
		Time    time.Time `json:"time"`
	} `json:"message"`
}

// ask reads a message from the leader of a stream, which has all that is stored;
// another copy may lag behind. While there is no leader it is an error.
func (r *Reader) ask(ctx context.Context, stream string, req getRequest) (Record, error) {
	msg, err := r.request(ctx, r.api+"STREAM.MSG.GET."+stream, req)
	if err != nil {
		return Record{}, err
	}
	rec, err := leaderRecord(msg.Data)
	if err != nil && !errors.Is(err, ErrNotFound) {
		err = fmt.Errorf("read stored message: %w", err)
	}
	return rec, err
}

func leaderRecord(data []byte) (Record, error) {
	answer := leaderAnswer{}
	if err := json.Unmarshal(data, &answer); err != nil {
		return Record{}, fmt.Errorf("answer of the leader: %w", err)
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return Record{}, ErrNotFound
	case answer.Error != nil:
		return Record{}, answer.Error
	case answer.Message == nil:
		return Record{}, errors.New("answer of the leader: it has no message")
	}
	m := answer.Message
	rec := Record{Subject: m.Subject, Seq: m.Seq, Time: m.Time, Header: nats.Header{}, Data: m.Data}
	if len(m.Header) == 0 {
		return rec, nil
	}
	header, err := nats.DecodeHeadersMsg(m.Header)
	if err != nil {
		return Record{}, fmt.Errorf("answer of the leader: %w", err)
	}
	rec.Header = header
	return rec, nil
}
