// Package signing signs the route messages of hosts and of the operator's commands
// with the key of the fleet, and verifies them.
package signing

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Header holds the proof that a host, or a command of the operator, has
// written a route message.
const Header = "Agent-Signature"

// Key is the entry of LanesBucket with the key that signs route messages.
const Key = "key.routes"

// A Signer signs route messages with the key of the fleet, and verifies them. Any
// program may publish on agent.route.*; only who can read that bucket of the hosts can
// speak for an agent there, or answer what one has asked.
type Signer struct {
	keys  atomic.Pointer[[][]byte] // that of the fleet first, behind it those that it has had while this host ran
	since time.Time                // the first of them was made then
}

func newSigner(key []byte, since time.Time) *Signer {
	s := &Signer{since: since}
	s.keys.Store(&[][]byte{key})
	return s
}

// Open reads the key of the fleet; the first host makes it.
func Open(ctx context.Context, js jetstream.JetStream) (*Signer, error) {
	s, revision, err := read(ctx, js)
	if !errors.Is(err, records.ErrNotFound) {
		return s, err
	}
	kv, err := js.KeyValue(ctx, bus.LanesBucket)
	if err != nil {
		return nil, fmt.Errorf("make the key for route messages: %w", err)
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	if _, err := records.Replace(ctx, kv, Key, key, revision); err != nil && !records.Overtaken(err) {
		return nil, fmt.Errorf("make the key for route messages: %w", err)
	}
	return Read(ctx, js) // the one that all hosts use, whichever host made it
}

// Read reads the key of the fleet. The error is records.ErrNotFound when no host has made one, also
// where something else stands in its place.
func Read(ctx context.Context, js jetstream.JetStream) (*Signer, error) {
	s, _, err := read(ctx, js)
	return s, err
}

// read is Read; with records.ErrNotFound revision is that of what stands in the place of a key.
func read(ctx context.Context, js jetstream.JetStream) (s *Signer, revision uint64, err error) {
	entry, err := records.NewReader(js).Entry(ctx, bus.LanesBucket, Key)
	switch {
	case errors.Is(err, jetstream.ErrBucketNotFound):
		err = records.ErrNotFound
	case errors.Is(err, records.ErrNotFound):
		entry.Seq = 0
	case err == nil && len(entry.Data) != sha256.Size: // such as an empty value, with which anyone could sign
		err = fmt.Errorf("%d bytes are no key: %w", len(entry.Data), records.ErrNotFound)
	}
	if err != nil {
		return nil, entry.Seq, fmt.Errorf("read the key for route messages: %w", err)
	}
	return newSigner(entry.Data, entry.Time), entry.Seq, nil
}

// Sign signs msg if it is a route message, or a timer that fires as one. A nil
// Signer signs nothing.
func (s *Signer) Sign(msg *nats.Msg) {
	subject := msg.Subject
	if strings.HasPrefix(subject, bus.SchedulePrefix) {
		subject = msg.Header.Get(jetstream.ScheduleTargetHeader)
	}
	if s == nil || !strings.HasPrefix(subject, bus.RoutePrefix) {
		return
	}
	if msg.Header == nil {
		msg.Header = nats.Header{}
	}
	msg.Header[Header] = []string{s.Signature(subject, msg.Data)}
}

// Signature is that of a payload on a subject.
func (s *Signer) Signature(subject string, data []byte) string {
	return hex.EncodeToString(sum((*s.keys.Load())[0], subject, data))
}

func sum(key []byte, subject string, data []byte) []byte {
	mac := hmac.New(sha256.New, key)
	_, _ = mac.Write([]byte(subject)) // never fails
	_, _ = mac.Write([]byte{0})
	_, _ = mac.Write(data)
	return mac.Sum(nil)
}

// Predates reports whether a message was stored before there was a key: a host of an
// earlier version may have sent it.
func (s *Signer) Predates(stored time.Time) bool { return s != nil && stored.Before(s.since) }

// Verify reports whether a route message is signed. A nil Signer knows none.
func (s *Signer) Verify(subject string, header nats.Header, data []byte) bool {
	if s == nil {
		return false
	}
	signature, err := hex.DecodeString(header.Get(Header))
	return err == nil && slices.ContainsFunc(*s.keys.Load(), func(key []byte) bool {
		return hmac.Equal(signature, sum(key, subject, data))
	})
}
