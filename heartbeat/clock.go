package heartbeat

import (
	"context"
	"fmt"
	"sync"
	"time"

	"agenthost/bus"

	"github.com/nats-io/nats.go/jetstream"
)

// A clock is that of NATS, which fires what is due: a host whose own clock is ahead would
// take firings for missed that are yet to come, and leave them out for the whole fleet. Between
// two readings it goes by the monotonic clock, which a change of the host's time leaves alone.
type clock struct {
	js jetstream.JetStream

	mu     sync.Mutex
	server time.Time // by NATS
	read   time.Time // by this host, when that was read
}

// clockFor is how long a reading is good for.
const clockFor = time.Minute

// now is the time. It asks NATS when the last reading is old, and does with that one when
// NATS is away.
func (c *clock) now(ctx context.Context) (time.Time, error) {
	c.mu.Lock()
	server, read := c.server, c.read
	c.mu.Unlock()
	if !read.IsZero() && time.Since(read) < clockFor {
		return server.Add(time.Since(read)), nil
	}
	asked := time.Now()
	stream, err := c.js.Stream(ctx, bus.SchedulesStream)
	switch {
	case err == nil && !stream.CachedInfo().TimeStamp.IsZero():
		server, read = stream.CachedInfo().TimeStamp, asked.Add(time.Since(asked)/2)
	case read.IsZero():
		return time.Time{}, fmt.Errorf("ask NATS for the time: %w", err)
	default:
		return server.Add(time.Since(read)), nil
	}
	c.mu.Lock()
	c.server, c.read = server, read
	c.mu.Unlock()
	return server.Add(time.Since(read)), nil
}
