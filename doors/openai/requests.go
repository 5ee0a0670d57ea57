package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
)

// requestWithin bounds what a request waits for the bucket.
const requestWithin = 5 * time.Second

var errTimeout = errors.New("NATS does not answer in time")

// A record is a request that is known again: what its message is, so that a repeat
// is the same message.
type record struct {
	Sum          string    `json:"sum"` // of the request
	Agent        string    `json:"agent"`
	Conversation string    `json:"conversation"`
	ID           string    `json:"id"` // of the message
	At           time.Time `json:"at"`
	// Since is the last commit of the session before, 0 for a new session: what came
	// of the request is behind it.
	Since uint64 `json:"since,omitempty"`
	// Previous is the response that this one goes on from, in the note of a response.
	Previous string `json:"previous,omitempty"`
}

// requests are the records in AGENT_REQUESTS.
type requests struct {
	js     jetstream.JetStream
	reader *records.Reader
}

// claim keeps rec under key, unless there is one: that is returned then. In place of what no host has
// written it keeps rec too.
func (s *requests) claim(ctx context.Context, key string, rec record) (known record, repeat bool, err error) {
	kv, data, err := s.open(ctx, rec)
	if err != nil {
		return rec, false, err
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	_, err = kv.Create(ctx, key, data)
	if !errors.Is(err, jetstream.ErrKeyExists) {
		return rec, false, inTime(err)
	}
	entry, err := s.reader.Entry(ctx, bus.RequestsBucket, key)
	if errors.Is(err, records.ErrNotFound) {
		return rec, false, fmt.Errorf("request %s has just expired", key)
	}
	if err != nil {
		return rec, false, inTime(err)
	}
	if known, ok := readRecord(entry.Data); ok {
		return known, true, nil
	}
	rec.Since = 0 // it may be a repeat: what came of it is looked for in the whole log
	if data, err = json.Marshal(rec); err != nil {
		return rec, false, err
	}
	_, err = kv.Update(ctx, key, data, entry.Seq)
	return rec, false, inTime(err)
}

// readRecord reads what a host has written; ok is false where that was something else.
func readRecord(data []byte) (rec record, ok bool) {
	err := json.Unmarshal(data, &rec)
	return rec, err == nil && rec.Sum != "" && rec.ID != ""
}

// put keeps rec under key, in place of one before.
func (s *requests) put(ctx context.Context, key string, rec record) error {
	kv, data, err := s.open(ctx, rec)
	if err != nil {
		return err
	}
	ctx, cancel := s.within(ctx)
	defer cancel()
	_, err = kv.Put(ctx, key, data)
	return inTime(err)
}

func (s *requests) get(ctx context.Context, key string) (rec record, ok bool, err error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	entry, err := s.reader.Entry(ctx, bus.RequestsBucket, key)
	if errors.Is(err, records.ErrNotFound) {
		return rec, false, nil
	}
	if err != nil {
		return rec, false, inTime(err)
	}
	rec, ok = readRecord(entry.Data)
	return rec, ok, nil
}

func (s *requests) open(ctx context.Context, rec record) (jetstream.KeyValue, []byte, error) {
	ctx, cancel := s.within(ctx)
	defer cancel()
	data, err := json.Marshal(rec)
	if err != nil {
		return nil, nil, err
	}
	kv, err := s.js.KeyValue(ctx, bus.RequestsBucket)
	return kv, data, inTime(err)
}

func (s *requests) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, requestWithin, errTimeout)
}

func inTime(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", errTimeout, err)
	}
	return err
}

// sum is one of several texts, each by itself.
func sum(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d:%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:20])
}
