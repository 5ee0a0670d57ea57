package delivery

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// ConsumerFilters are the filters of what is consumed from a stream: those of its
// lanes, and the subjects that consumers of other programs name. What one of these
// takes with a wildcard may be there to look at only.
func ConsumerFilters(ctx context.Context, stream jetstream.Stream) ([]string, error) {
	list := stream.ListConsumers(ctx)
	var filters []string
	for info := range list.Info() {
		for _, filter := range filtersOf(info.Config) {
			if IsLane(info.Name) || !strings.ContainsAny(filter, "*>") {
				filters = append(filters, filter)
			}
		}
	}
	if err := list.Err(); err != nil {
		return nil, fmt.Errorf("list consumers: %w", err)
	}
	return filters, nil
}
