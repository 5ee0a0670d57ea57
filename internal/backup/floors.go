package backup

import (
	"context"

	"agenthost/bus/delivery"

	"github.com/nats-io/nats.go/jetstream"
)

// floorsOf are where the lanes of a stream are, by consumer.
func floorsOf(ctx context.Context, stream jetstream.Stream) (map[string]Floor, error) {
	floors := map[string]Floor{}
	list := stream.ListConsumers(ctx)
	for info := range list.Info() {
		if delivery.OfLane(info.Config) {
			floors[info.Name] = Floor{info.AckFloor.Consumer, info.AckFloor.Stream}
		}
	}
	return floors, list.Err()
}
