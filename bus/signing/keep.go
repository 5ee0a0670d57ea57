package signing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"agenthost/bus"
	"agenthost/bus/records"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"
)

const (
	// keepEvery is how often a host looks for the key of the fleet. It costs a request.
	keepEvery = 2 * time.Second
	// mostKeys is how many keys verify.
	mostKeys = 8
)

// Keep has s sign with the key of the fleet until ctx ends, also when the bucket is deleted and
// made again while hosts run. Without a key there this host puts back its own. Where another host
// was quicker to make one, s goes over to that; the one of before still verifies, as messages
// that are stored have its signatures.
func (s *Signer) Keep(ctx context.Context, js jetstream.JetStream, log zerolog.Logger) {
	for bus.Pause(ctx, keepEvery); ctx.Err() == nil; bus.Pause(ctx, keepEvery) {
		said, err := s.renew(ctx, js)
		switch {
		case err != nil && ctx.Err() == nil:
			log.Debug().Err(err).Msg("look for the key for route messages: failed; trying again")
		case said != "":
			log.Warn().Str("bucket", bus.LanesBucket).Msg(said)
		}
	}
}

// renew looks for the key of the fleet once. It says what has changed, mostly nothing.
func (s *Signer) renew(ctx context.Context, js jetstream.JetStream) (said string, err error) {
	ctx, cancel := context.WithTimeout(ctx, bus.APITimeout)
	defer cancel()
	keys := *s.keys.Load()
	now, revision, err := read(ctx, js)
	if errors.Is(err, records.ErrNotFound) {
		return putBack(ctx, js, keys[0], revision)
	}
	if err != nil {
		return "", err
	}
	key := (*now.keys.Load())[0]
	if bytes.Equal(key, keys[0]) {
		return "", nil
	}
	all := [][]byte{key}
	for _, k := range keys {
		if !bytes.Equal(k, key) && len(all) < mostKeys {
			all = append(all, k)
		}
	}
	s.keys.Store(&all)
	return "the bucket was made again with another key for route messages: this host signs with that now", nil
}

// putBack writes the key of this host into a bucket without one. A revision other than 0 is that of a value
// that is no key, which it replaces. While there is no bucket nothing happens.
func putBack(ctx context.Context, js jetstream.JetStream, key []byte, revision uint64) (said string, err error) {
	kv, err := js.KeyValue(ctx, bus.LanesBucket)
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		return "", nil
	}
	if err == nil {
		_, err = records.Replace(ctx, kv, Key, key, revision)
	}
	if records.Overtaken(err) {
		return "", nil // another host was quicker; the next look finds it
	}
	if err != nil {
		return "", fmt.Errorf("put back the key for route messages: %w", err)
	}
	return "the key for route messages was gone or overwritten, as after the bucket was made again: this host has put its own back", nil
}
