package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/rs/zerolog"

	"agenthost/bus"
	"agenthost/bus/records"
)

// An ownership is what a host notes when it gains a lane, so that after a crash
// it can let go what its dead self still holds.
type ownership struct {
	Host string `json:"host"`
	Pin  string `json:"pin"`
	// Tried is how far deliveries had come before the last reset.
	Tried uint64 `json:"tried,omitempty"`
	// Handed is how far they had come when the owner stopped in good order.
	Handed uint64 `json:"handed,omitempty"`
	// Takes are the filters of the consumer, as its owner has last seen them take all that the lane is
	// to take. One that takes less was changed by others.
	Takes []string `json:"takes,omitempty"`
	// LeftOut is from where on the consumer may have left messages out that no host has asked for yet,
	// 0 where it has not.
	LeftOut uint64 `json:"left_out,omitempty"`
	mark
}

// An ownershipStore keeps who serves a lane, in LanesBucket.
type ownershipStore struct {
	js  jetstream.JetStream
	key string
	log zerolog.Logger
}

func (s ownershipStore) read(ctx context.Context) (ownership, error) {
	note := ownership{}
	entry, err := records.NewReader(s.js).Entry(ctx, bus.LanesBucket, s.key)
	if errors.Is(err, records.ErrNotFound) {
		return note, nil
	}
	if err != nil {
		return note, fmt.Errorf("read who serves the lane: %w", err)
	}
	if err := json.Unmarshal(entry.Data, &note); err != nil {
		s.log.Warn().Err(err).Msg("read the record of the owner of the lane: failed; ignored")
		return ownership{}, nil
	}
	return note, nil
}

func (s ownershipStore) write(ctx context.Context, note ownership) error {
	kv, err := s.js.KeyValue(ctx, bus.LanesBucket)
	if err != nil {
		return fmt.Errorf("record the owner of the lane: %w", err)
	}
	data, err := json.Marshal(note)
	if err != nil {
		return err
	}
	if _, err = kv.Put(ctx, s.key, data); err != nil {
		return fmt.Errorf("record the owner of the lane: %w", err)
	}
	return nil
}
