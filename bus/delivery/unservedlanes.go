package delivery

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// LanesStart is the first message of a stream that its lanes have not passed over when
// their number was changed.
func LanesStart(cfg jetstream.StreamConfig) uint64 { return startOf(cfg) }

// UnservedLanes are the numbers of the lanes of a stream that no host asks for
// messages.
func UnservedLanes(ctx context.Context, stream jetstream.Stream, count int) ([]int, error) {
	infos, err := oldLanes(ctx, stream)
	if err != nil {
		return nil, err
	}
	idle := map[string]bool{}
	for _, info := range infos {
		idle[info.Name] = pinnedClient(info) == "" && info.NumWaiting == 0
	}
	var lanes []int
	for n := range count {
		if idle[LaneName(n)] {
			lanes = append(lanes, n)
		}
	}
	return lanes, nil
}
