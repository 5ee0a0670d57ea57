package delivery

import (
	"context"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// lookEvery is how often a lane that asks looks whether the server has forgotten
	// deliveries. It costs a request.
	lookEvery = 15 * time.Second
	// lookWithin is the time for that: a lane that has to let go must not wait for it.
	lookWithin = time.Second
)

// forgot reports whether the server has delivered messages that it counts neither as
// acknowledged nor as open. A consumer with replicas may get there when its leader changes
// soon after a reset. The messages would never come again, and what is behind them would
// never count as done: a reset delivers all from the first that is not acknowledged.
func forgot(info *jetstream.ConsumerInfo) bool {
	return info.NumAckPending == 0 && info.AckFloor.Consumer < info.Delivered.Consumer
}

// forgotten looks whether the server has forgotten deliveries of this lane, where no other
// host serves it.
func (l *Lane) forgotten(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	consumer, err := l.js.Consumer(ctx, l.cfg.Stream, l.cfg.Name)
	if err != nil {
		return false // the next look is soon
	}
	info := consumer.CachedInfo()
	if !forgot(info) {
		return false
	}
	pin, mine := pinnedClient(info), l.pinned.Load()
	if pin != "" && (mine == nil || *mine != pin) {
		return false // its owner looks
	}
	l.log.Warn().Uint64("delivered", info.Delivered.Stream).Uint64("acknowledged", info.AckFloor.Stream).
		Msg("the server has forgotten what it delivered; asking for it again")
	return true
}
